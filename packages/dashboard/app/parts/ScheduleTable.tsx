/**
 * The schedules of a workflow: their next times, and what they missed.
 */
import type { Schedule, ScheduleItem } from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, sentenceOf } from "../Console.ts"
import { numberText, timeText, timeZone } from "../Words.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"
import { ScheduleForm } from "./ScheduleForm.tsx"
import { LastRun, Missed, RemoveTrigger, TriggerActions } from "./TriggerCells.tsx"
import { triggersKey, TriggerSwitch } from "./TriggerSwitch.tsx"

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
  return <ScheduleForm workflowId={workflowId} known={data satisfies Schedule} onClose={onClose} />
}

const words = { times: "Next times", edit: "Edit", remove: "Remove" } as const
type Asked = keyof typeof words

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
              <LastRun {...item} />
            </td>
            <td>
              <Missed {...item} />
            </td>
            <TriggerActions
              words={readOnly ? { times: words.times } : words}
              what={whenOf(item)}
              onAsk={(what: Asked) => onAsk(what, item)}
            />
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** The schedules, and what can be done with them. */
export const ScheduleTable = ({
  items,
  readOnly,
}: {
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
        <RemoveTrigger what="schedule" item={asked.item} onClose={close}>
          It starts nothing any more. Its runs stay.
        </RemoveTrigger>
      )}
    </>
  )
}
