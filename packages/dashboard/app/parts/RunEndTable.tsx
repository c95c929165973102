/**
 * The triggers of a workflow that follow the runs of others, and what they did not start.
 */
import type { RunEndTrigger } from "@millrace/api/PromiseClient"
import { useState } from "react"
import { Link } from "wouter"
import { client } from "../Console.ts"
import { numberText, timeText } from "../Words.ts"
import { Confirm } from "./Confirm.tsx"
import { endTexts, RunEndForm } from "./RunEndForm.tsx"
import { refreshTriggers, TriggerSwitch } from "./TriggerSwitch.tsx"
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
  const { lastAt, lastError, lastMissedAt, lastRunId, missed } = item
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
        {lastRunId === null ? "–" : <Link href={`/runs/${lastRunId}`}>{timeText(lastAt)}</Link>}
      </td>
      <td>
        {missed === 0 ? "None" : `${numberText(missed)}, last ${timeText(lastMissedAt)}`}
        {lastError !== null && <div className="error clamp">{lastError}</div>}
      </td>
      <td className="actions">
        <Link href={`/runs?triggerId=${item.id}`} aria-label={`Runs: ${what}`}>
          Runs
        </Link>
        {!readOnly &&
          (Object.keys(words) as Array<Asked>).map((action) => (
            <button
              key={action}
              type="button"
              aria-label={`${words[action]}: ${what}`}
              onClick={() => onAsk(action)}
            >
              {words[action]}
            </button>
          ))}
      </td>
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
  id,
  items,
  readOnly,
}: {
  readonly id: string
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
        <RunEndForm
          workflowId={id}
          known={asked.item}
          onSaved={() => refreshTriggers(id)}
          onClose={close}
        />
      )}
      {asked?.what === "remove" && (
        <Confirm
          title="Remove the trigger?"
          action="Remove"
          act={async () => {
            await client.triggers.remove(id, asked.item.id)
            await refreshTriggers(id)
          }}
          onClose={close}
        >
          <p>It starts nothing any more. Its runs stay.</p>
        </Confirm>
      )}
    </>
  )
}
