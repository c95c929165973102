/**
 * Runs again what has failed, many runs at once, and says how far it has come.
 *
 * Guarantees: starts nothing before the button is pressed, and nothing more once it is stopped or
 * closed. However often it is asked, a failed run gets one rerun from it.
 */
import type { RerunBatch } from "@millrace/api/PromiseClient"
import { useMutation } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import { client, sentenceOf } from "../Console.ts"
import { countText } from "../Words.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"
import { Choice, Line } from "./TextFields.tsx"

/** Which failed runs to begin with. */
export interface FailedRuns {
  readonly workflowId?: string | undefined
  /** A part of their error. */
  readonly error?: string | undefined
  /** Times of their creation, as a field `datetime-local` has them. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** How many failed runs one request looks at. */
const pageSize = 50

/** The longest part of an error that a request takes. */
const errorLength = 200

interface Progress {
  readonly started: number
  readonly hadRerun: number
  /** How many were refused for each reason. */
  readonly refused: ReadonlyMap<string, number>
}

const nothing: Progress = { started: 0, hadRerun: 0, refused: new Map() }

const advanced = (now: Progress, { leftOut, started }: RerunBatch): Progress => {
  const refused = new Map(now.refused)
  for (const { message, reason } of leftOut) {
    if (reason === "refused") refused.set(message!, (refused.get(message!) ?? 0) + 1)
  }
  const hadRerun = now.hadRerun + leftOut.filter(({ reason }) => reason === "rerun").length
  return { started: now.started + started.length, hadRerun, refused }
}

/** What a field `datetime-local` says, in the viewer's zone, as the server reads times. */
const instant = (local: string) => new Date(local).toISOString()

const Report = ({ progress }: { readonly progress: Progress }) => (
  <div role="status">
    <p>
      {countText(progress.started, "run")} started.{" "}
      {progress.hadRerun > 0 &&
        `${countText(progress.hadRerun, "run")} left out: run again before.`}
    </p>
    {[...progress.refused].map(([why, count]) => (
      <Notice key={why}>
        {countText(count, "run")} refused: {why}
      </Notice>
    ))}
  </div>
)

/** Asks for one page after the other, until there is none or nobody wants more. */
const useReruns = () => {
  const [progress, setProgress] = useState<Progress>()
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const start = useMutation({
    mutationFn: async (body: NonNullable<Parameters<typeof client.runs.rerunFailed>[0]>) => {
      stop.current = new AbortController()
      const { signal } = stop.current
      setProgress(nothing)
      let cursor: string | null = null
      do {
        const page: RerunBatch = await client.runs.rerunFailed(
          { limit: pageSize, ...body, ...(cursor === null ? {} : { cursor }) },
          { signal },
        )
        setProgress((now) => advanced(now ?? nothing, page))
        cursor = page.nextCursor
      } while (cursor !== null && !signal.aborted)
    },
  })
  return { progress, start, stop: () => stop.current.abort() }
}

/** The dialog. */
export const RunFailedAgain = ({
  begin,
  onClose,
}: {
  readonly begin: FailedRuns
  readonly onClose: () => void
}) => {
  const [texts, setTexts] = useState({
    error: begin.error?.slice(0, errorLength) ?? "",
    from: begin.from ?? "",
    to: begin.to ?? "",
    definition: "same",
  })
  const fields = {
    texts,
    set: (name: keyof typeof texts, text: string) => setTexts((now) => ({ ...now, [name]: text })),
  }
  const { progress, start, stop } = useReruns()
  const { error, isPending, isSuccess, mutate } = start
  const { workflowId } = begin
  return (
    <Dialog title="Run failed runs again" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutate({
            ...(workflowId === undefined ? {} : { workflowId }),
            ...(texts.error === "" ? {} : { error: texts.error }),
            ...(texts.from === "" ? {} : { from: instant(texts.from) }),
            ...(texts.to === "" ? {} : { to: instant(texts.to) }),
            definition: texts.definition === "current" ? "current" : "same",
          })
        }}
      >
        <p>
          Each failed run {workflowId === undefined ? "of the account" : "of this workflow"} that
          fits goes on from its failure, as a run of its own. What its nodes have completed is taken
          over and costs nothing. A run that was run again before is left out.
        </p>
        <Line {...fields} name="error" label="Its error contains" />
        <Line {...fields} name="from" type="datetime-local" label="Created from" />
        <Line {...fields} name="to" type="datetime-local" label="Created before" />
        <Choice {...fields} name="definition" label="Workflow">
          <option value="same">As it was in the failed run</option>
          <option value="current">As it is now</option>
        </Choice>
        {progress !== undefined && <Report progress={progress} />}
        {error !== null && error.name !== "AbortError" && (
          <Notice kind="error">{sentenceOf(error)}</Notice>
        )}
        <footer>
          <button type="button" onClick={isPending ? stop : onClose}>
            {isPending ? "Stop" : "Close"}
          </button>
          <button type="submit" className="primary" disabled={isPending || isSuccess}>
            Run again
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
