/**
 * A trigger that follows the runs of another workflow, to make or to change.
 *
 * Guarantees: what the server refuses is said in its words, and what was typed stays. Leaves out:
 * workflows beyond the newest ones.
 */
import type { NewRunEndTrigger, RunEndTrigger } from "@millrace/api/PromiseClient"
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { client, sentenceOf } from "../Console.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"
import type { Texts } from "./TextFields.tsx"
import { Choice, Lines } from "./TextFields.tsx"
import { useWatchable } from "./WatchedWorkflow.tsx"

type End = RunEndTrigger["on"][number]

/** The ends, in words. */
export const endTexts: Readonly<Record<End, string>> = {
  COMPLETED: "completes",
  FAILED: "fails",
  CANCELED: "is canceled",
}
const allEnds = Object.keys(endTexts) as ReadonlyArray<End>

const textsOf = (known: RunEndTrigger | undefined) => ({
  watch: known?.watch ?? "",
  on: (known?.on ?? ["COMPLETED"]).join(" "),
  into: known === undefined || known.into === null ? "" : JSON.stringify(known.into),
  values: JSON.stringify(known?.values ?? {}),
})
type RunEndTexts = ReturnType<typeof textsOf>

/** What the server is asked for. Throws if something that should be JSON is not. */
const bodyOf = ({ into, on, values, watch }: RunEndTexts): NewRunEndTrigger => ({
  type: "run_end",
  watch,
  on: on.split(" ").filter(Boolean) as Array<End>,
  into: into.trim() === "" ? null : (JSON.parse(into) as RunEndTrigger["into"]),
  values: JSON.parse(values) as RunEndTrigger["values"],
})

type Given = Texts<keyof RunEndTexts>

const Ends = ({ set, texts }: Given) => {
  const chosen = texts.on.split(" ")
  return (
    <fieldset>
      <legend>When a run of it</legend>
      {allEnds.map((end) => (
        <label key={end} className="check">
          <input
            type="checkbox"
            checked={chosen.includes(end)}
            onChange={({ target: { checked } }) =>
              set(
                "on",
                allEnds
                  .filter((each) => (each === end ? checked : chosen.includes(each)))
                  .join(" "),
              )
            }
          />
          {endTexts[end]}
        </label>
      ))}
    </fieldset>
  )
}

const Fields = ({ workflowId, ...all }: Given & { readonly workflowId: string }) => {
  const { watch } = all.texts
  const others = (useWatchable().data ?? []).filter(({ id }) => id !== workflowId)
  return (
    <>
      <Choice {...all} name="watch" label="Workflow whose runs it follows">
        <option value="">Choose a workflow</option>
        {watch !== "" && !others.some(({ id }) => id === watch) && (
          <option value={watch}>{watch}</option>
        )}
        {others.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </Choice>
      <Ends {...all} />
      <Lines
        {...all}
        name="into"
        label="What each field gets of the run that has ended, as JSON; empty: by its name"
        placeholder='{ "order": "output.order.id", "why": "errorMessage" }'
      />
      <Lines {...all} name="values" label="Values of its runs, as JSON" />
    </>
  )
}

/** The form, of a new trigger or of one that is there. */
export const RunEndForm = ({
  known,
  onClose,
  onSaved,
  workflowId,
}: {
  readonly workflowId: string
  readonly known?: RunEndTrigger
  readonly onSaved: () => Promise<unknown>
  readonly onClose: () => void
}) => {
  const [texts, setTexts] = useState(() => textsOf(known))
  const [isOdd, setIsOdd] = useState(false)
  const { error, isPending, mutate } = useMutation({
    mutationFn: async (body: NewRunEndTrigger) => {
      const { type: _, ...change } = body
      await (known === undefined
        ? client.triggers.create(workflowId, body)
        : client.triggers.update(workflowId, known.id, change))
    },
    onSuccess: async () => {
      await onSaved()
      onClose()
    },
  })
  const save = () => {
    setIsOdd(false)
    try {
      mutate(bodyOf(texts))
    } catch {
      setIsOdd(true)
    }
  }
  return (
    <Dialog title={known === undefined ? "After a run" : "After runs"} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Fields
          workflowId={workflowId}
          texts={texts}
          set={(name, text) => setTexts({ ...texts, [name]: text })}
        />
        {isOdd && (
          <Notice kind="error">
            {'The fields or the values are not JSON, such as { "n": "output.n" }.'}
          </Notice>
        )}
        {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={isPending || texts.watch === ""}>
            Save
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
