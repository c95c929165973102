/**
 * Sends a test event to a webhook, and says in one sentence why an address is refused.
 */
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { client, queries, sentenceOf } from "../Console.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"

/** The dialog with the address. */
export const TestEvent = ({ onClose }: { readonly onClose: () => void }) => {
  const [url, setUrl] = useState("")
  const { error, isPending, mutate } = useMutation({
    mutationFn: () => client.testEvents.send({ url }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["deliveries"] })
      onClose()
    },
  })
  return (
    <Dialog title="Send a test event" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutate()
        }}
      >
        <p>An event of type webhook.test is signed and sent, as those of runs are.</p>
        <label className="field">
          Address
          <input
            required
            placeholder="https://example.com/hook"
            value={url}
            onChange={({ target }) => setUrl(target.value)}
          />
        </label>
        {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={isPending}>
            Send
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
