/**
 * The schedules of a workflow: their next times, and what they missed.
 */
import type { Schedule, ScheduleItem } from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Link } from "wouter"
import { client, sentenceOf } from "../Console.ts"
import { numberText, timeText, timeZone } from "../Words.ts"
import { Confirm } from "./Confirm.tsx"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"
import { ScheduleForm } from "./ScheduleForm.tsx"
import { refreshTriggers, triggersKey, TriggerSwitch } from "./TriggerSwitch.tsx"

/** When it is due: `0 9 * * 1-5, Europe/Berlin`. */
const whenOf = ({ cron, everySeconds, timezone }: ScheduleItem): string =>
  cron === null ? `every ${numberText(everySeconds ?? 0)} s` : `${cron}, ${timezone}`

/** A trigger with its next times. */
const useTrigger = ({ id, workflowId }: ScheduleItem) =>
  useQuery({
    queryKey: [...triggersKey(workflowId), id],
    queryFn: async () => (await client.triggers.get(workflowId, id)) as Schedule,
  })

const Times = ({
  item,
  onClose,
}: {
  readonly item: ScheduleItem
  readonly onClose: () => void
}) => {
  const { data, error } = useTrigger(item)
  const times = data?.nextTimes ?? []
  return (
    <Dialog title={`Next times of ${whenOf(item)}`} onClose={onClose}>
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      {data !== undefined && times.length === 0 && <p>It is switched off, or has no more times.</p>}
      <ol>
        {times.map((at) => (
          <li key={at}>
            <time dateTime={at}>{timeText(at)}</time>
          </li>
        ))}
      </ol>
      <p className="quiet">Times in {timeZone}</p>
    </Dialog>
  )
}

const Editing = ({
  item,
  onClose,
}: {
  readonly item: ScheduleItem
  readonly onClose: () => void
}) => {
  const { data } = useTrigger(item)
  if (data === undefined) return null
  const { workflowId } = item
  return (
    <ScheduleForm
      workflowId={workflowId}
      known={data satisfies Schedule}
      onSaved={() => refreshTriggers(workflowId)}
      onClose={onClose}
    />
  )
}

const Missed = ({ item: { lastError, lastMissedAt, missed } }: { readonly item: ScheduleItem }) =>
  missed === 0 ? (
    "None"
  ) : (
    <>
      {numberText(missed)}, last {timeText(lastMissedAt)}
      {lastError !== null && <div className="error clamp">{lastError}</div>}
    </>
  )

type Asked = "times" | "edit" | "remove"

const Rows = ({
  items,
  onAsk,
  readOnly,
}: {
  readonly items: ReadonlyArray<ScheduleItem>
  readonly readOnly: boolean
  readonly onAsk: (what: Asked, item: ScheduleItem) => void
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label="Schedules">
    <table>
      <thead>
        <tr>
          <th scope="col">On</th>
          <th scope="col">When</th>
          <th scope="col">Next ({timeZone})</th>
          <th scope="col">Last run</th>
          <th scope="col">Missed</th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.id}>
            <td>
              <TriggerSwitch item={item} what={whenOf(item)} readOnly={readOnly} />
            </td>
            <td>
              <code>{whenOf(item)}</code>
            </td>
            <td>{timeText(item.nextAt)}</td>
            <td>
              {item.lastRunId === null ? (
                "–"
              ) : (
                <Link href={`/runs/${item.lastRunId}`}>{timeText(item.lastAt)}</Link>
              )}
            </td>
            <td>
              <Missed item={item} />
            </td>
            <td className="actions">
              {(readOnly ? (["times"] as const) : (["times", "edit", "remove"] as const)).map(
                (what) => (
                  <button
                    key={what}
                    type="button"
                    aria-label={`${words[what]}: ${whenOf(item)}`}
                    onClick={() => onAsk(what, item)}
                  >
                    {words[what]}
                  </button>
                ),
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const words = { times: "Next times", edit: "Edit", remove: "Remove" } as const

/** The schedules, and what can be done with them. */
export const ScheduleTable = ({
  id,
  items,
  readOnly,
}: {
  readonly id: string
  readonly items: ReadonlyArray<ScheduleItem>
  readonly readOnly: boolean
}) => {
  const [asked, setAsked] = useState<{ readonly what: Asked; readonly item: ScheduleItem }>()
  const close = () => setAsked(undefined)
  return (
    <>
      <h2>Schedules</h2>
      <Rows items={items} readOnly={readOnly} onAsk={(what, item) => setAsked({ what, item })} />
      {asked?.what === "times" && <Times item={asked.item} onClose={close} />}
      {asked?.what === "edit" && <Editing item={asked.item} onClose={close} />}
      {asked?.what === "remove" && (
        <Confirm
          title="Remove the schedule?"
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
