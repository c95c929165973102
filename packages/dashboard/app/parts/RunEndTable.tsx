/**
 * The triggers of a workflow that follow the runs of others, and what they did not start.
 */
import type { RunEndTrigger } from "@millrace/api/PromiseClient"
import { useState } from "react"
import { timeText } from "../Words.ts"
import { endTexts, RunEndForm } from "./RunEndForm.tsx"
import { LastRun, Missed, RemoveTrigger, TriggerActions, TriggerRuns } from "./TriggerCells.tsx"
import { TriggerSwitch } from "./TriggerSwitch.tsx"
import { WatchedWorkflow } from "./WatchedWorkflow.tsx"

const words = { edit: "Edit", remove: "Remove" } as const
type Asked = keyof typeof words

const Row = ({
  item,
  onAsk,
  readOnly,
}: {
  readonly item: RunEndTrigger
  readonly readOnly: boolean
  readonly onAsk: (what: Asked) => void
}) => {
  const what = `trigger of ${timeText(item.createdAt)}`
  return (
    <tr>
      <td>
        <TriggerSwitch item={item} what={what} readOnly={readOnly} />
      </td>
      <td>
        <WatchedWorkflow id={item.watch} /> {item.on.map((end) => endTexts[end]).join(", ")}
      </td>
      <td>
        <LastRun {...item} />
      </td>
      <td>
        <Missed {...item} />
      </td>
      <TriggerActions words={readOnly ? {} : words} what={what} onAsk={onAsk}>
        <TriggerRuns id={item.id} what={what} />
      </TriggerActions>
    </tr>
  )
}

const Rows = ({
  items,
  onAsk,
  readOnly,
}: {
  readonly items: ReadonlyArray<RunEndTrigger>
  readonly readOnly: boolean
  readonly onAsk: (what: Asked, item: RunEndTrigger) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="After runs of others">
    <table>
      <thead>
        <tr>
          <th scope="col">On</th>
          <th scope="col">When a run of</th>
          <th scope="col">Last run</th>
          <th scope="col">Missed</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <Row key={item.id} item={item} readOnly={readOnly} onAsk={(what) => onAsk(what, item)} />
        ))}
      </tbody>
    </table>
  </div>
)

/** The triggers, and what can be done with them. */
export const RunEndTable = ({
  items,
  readOnly,
}: {
  readonly items: ReadonlyArray<RunEndTrigger>
  readonly readOnly: boolean
}) => {
  const [asked, setAsked] = useState<{ readonly what: Asked; readonly item: RunEndTrigger }>()
  const close = () => setAsked(undefined)
  return (
    <>
      <h2>After runs of others</h2>
      <Rows items={items} readOnly={readOnly} onAsk={(what, item) => setAsked({ what, item })} />
      {asked?.what === "edit" && (
        <RunEndForm workflowId={asked.item.workflowId} known={asked.item} onClose={close} />
      )}
      {asked?.what === "remove" && (
        <RemoveTrigger what="trigger" item={asked.item} onClose={close}>
          It starts nothing any more. Its runs stay.
        </RemoveTrigger>
      )}
    </>
  )
}
