/**
 * Publishes the draft of a workflow, after it has shown what is new in it.
 *
 * Guarantees: what the server refuses is said in its words, and what was typed stays.
 */
import type { VersionItem } from "@millrace/api/PromiseClient"
import { MillraceError } from "@millrace/api/PromiseClient"
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { client, sentenceOf } from "../Console.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"
import { Changes, useDifference } from "./VersionChanges.tsx"

const noteLength = 500

const Refusal = ({ error }: { readonly error: Error }) => {
  const problems = error instanceof MillraceError ? error.problems : []
  return (
    <Notice kind="error">
      {sentenceOf(error)}
      {problems.length > 1 && (
        <ul>
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </Notice>
  )
}

/** The dialog. */
export const PublishDialog = ({
  id,
  items,
  onClose,
  onPublished,
}: {
  readonly id: string
  /** Newest first. */
  readonly items: ReadonlyArray<VersionItem>
  readonly onPublished: () => Promise<unknown>
  readonly onClose: () => void
}) => {
  const [note, setNote] = useState("")
  const newest = items[0]
  const { data: news } = useDifference(id, newest?.number, "draft")
  const { error, isPending, mutate } = useMutation({
    mutationFn: () => client.workflows.publish(id, note.trim() === "" ? {} : { note: note.trim() }),
    onSuccess: async () => {
      await onPublished()
      onClose()
    },
  })
  return (
    <Dialog title="Publish the draft?" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutate()
        }}
      >
        <p>
          Starts, triggers and other workflows take it from then on. Runs that have begun go on as
          they are.
        </p>
        {newest !== undefined && <h3>Since version {newest.number}</h3>}
        {news !== undefined && <Changes of={news} />}
        <label className="field">
          What is new, for those who look at the list (optional)
          <textarea
            dir="auto"
            rows={2}
            maxLength={noteLength}
            value={note}
            onChange={({ target }) => setNote(target.value)}
          />
        </label>
        {error !== null && <Refusal error={error} />}
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={isPending}>
            Publish
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
