/**
 * A trigger that follows the runs of another workflow, to make or to change.
 *
 * Leaves out: workflows beyond the newest ones.
 */
import type { NewRunEndTrigger, RunEndTrigger } from "@millrace/api/PromiseClient"
import { useState } from "react"
import { client } from "../Console.ts"
import type { Texts } from "./TextFields.tsx"
import { Choice, Lines } from "./TextFields.tsx"
import { TriggerForm } from "./TriggerForm.tsx"
import { receiverOf, receiverTextsOf, TriggerReceiver } from "./TriggerReceiver.tsx"
import { TriggerVersion, versionOf, versionTextOf } from "./TriggerVersion.tsx"
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
  version: versionTextOf(known),
  ...receiverTextsOf(known),
})
type RunEndTexts = ReturnType<typeof textsOf>

/** What the server is asked for. Throws if something that should be JSON is not. */
const bodyOf = (
  { into, on, values, version, watch, ...receiver }: RunEndTexts,
  known: RunEndTrigger | undefined,
): NewRunEndTrigger => ({
  type: "run_end",
  watch,
  on: on.split(" ").filter(Boolean) as Array<End>,
  into: into.trim() === "" ? null : (JSON.parse(into) as RunEndTrigger["into"]),
  values: JSON.parse(values) as RunEndTrigger["values"],
  version: versionOf(version),
  ...receiverOf<NewRunEndTrigger>(receiver, known),
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

const Fields = ({
  known,
  workflowId,
  ...all
}: Given & { readonly workflowId: string; readonly known: RunEndTrigger | undefined }) => {
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
      <TriggerReceiver {...all} known={known} />
      <TriggerVersion {...all} workflowId={workflowId} />
    </>
  )
}

/** The form, of a new trigger or of one that is there. */
export const RunEndForm = ({
  known,
  onClose,
  workflowId,
}: {
  readonly workflowId: string
  readonly known?: RunEndTrigger
  readonly onClose: () => void
}) => {
  const [texts, setTexts] = useState(() => textsOf(known))
  const save = ({ type, ...change }: NewRunEndTrigger): Promise<unknown> =>
    known === undefined
      ? client.triggers.create(workflowId, { type, ...change })
      : client.triggers.update(workflowId, known.id, change)
  return (
    <TriggerForm
      title={known === undefined ? "After a run" : "After runs"}
      workflowId={workflowId}
      read={() => bodyOf(texts, known)}
      notJson={'The fields or the values are not JSON, such as { "n": "output.n" }.'}
      save={save}
      isUnfinished={texts.watch === ""}
      onClose={onClose}
    >
      <Fields
        workflowId={workflowId}
        known={known}
        texts={texts}
        set={(name, text) => setTexts({ ...texts, [name]: text })}
      />
    </TriggerForm>
  )
}
