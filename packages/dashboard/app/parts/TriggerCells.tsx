/**
 * What the tables of triggers have in common: the last run, what was missed, and what can be done.
 */
import type { ScheduleItem, TriggerItem } from "@millrace/api/PromiseClient"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { client } from "../Console.ts"
import { numberText, timeText } from "../Words.ts"
import { Confirm } from "./Confirm.tsx"
import { refreshTriggers } from "./TriggerSwitch.tsx"

/** The run that a trigger has started last. */
export const LastRun = ({ lastAt, lastRunId }: Pick<ScheduleItem, "lastAt" | "lastRunId">) =>
  lastRunId === null ? "–" : <Link href={`/runs/${lastRunId}`}>{timeText(lastAt)}</Link>

/** How many runs a trigger has not started, and why not the last one. */
export const Missed = ({
  lastError,
  lastMissedAt,
  missed,
}: Pick<ScheduleItem, "lastError" | "lastMissedAt" | "missed">) =>
  missed === 0 ? (
    "None"
  ) : (
    <>
      {numberText(missed)}, last {timeText(lastMissedAt)}
      {lastError !== null && <div className="error clamp">{lastError}</div>}
    </>
  )

/** A button for each action, behind other things; `what` says for which trigger. */
export const TriggerActions = <Action extends string>({
  children,
  onAsk,
  what,
  words,
}: {
  readonly words: Readonly<Partial<Record<Action, string>>>
  readonly what: string
  readonly onAsk: (action: Action) => void
  readonly children?: ReactNode
}) => (
  <td className="actions">
    {children}
    {(Object.keys(words) as Array<Action>).map((action) => (
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
)

/** Leads to the runs of a trigger. */
export const TriggerRuns = ({ id, what }: { readonly id: string; readonly what: string }) => (
  <Link href={`/runs?triggerId=${id}`} aria-label={`Runs: ${what}`}>
    Runs
  </Link>
)

/** Asks, and removes a trigger. */
export const RemoveTrigger = ({
  children,
  item: { id, workflowId },
  onClose,
  what,
}: {
  readonly item: TriggerItem
  readonly what: string
  readonly onClose: () => void
  readonly children: string
}) => (
  <Confirm
    title={`Remove the ${what}?`}
    action="Remove"
    act={async () => {
      await client.triggers.remove(workflowId, id)
      await refreshTriggers(workflowId)
    }}
    onClose={onClose}
  >
    <p>{children}</p>
  </Confirm>
)
