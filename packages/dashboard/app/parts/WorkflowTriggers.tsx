/**
 * What starts runs of a workflow by itself: its schedules, their next times and what they missed.
 *
 * Leaves out: inbound webhooks.
 */
import type { Schedule, ScheduleItem } from "@millrace/api/PromiseClient"
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Link } from "wouter"
import { client, queries, sentenceOf } from "../Console.ts"
import { numberText, timeText, timeZone } from "../Words.ts"
import { Confirm } from "./Confirm.tsx"
import { Dialog } from "./Dialog.tsx"
import { Listed } from "./Listed.tsx"
import { Notice } from "./Notice.tsx"
import { TriggerForm } from "./TriggerForm.tsx"

const keyOf = (workflowId: string) => ["triggers", workflowId]

const refresh = (workflowId: string) => queries.invalidateQueries({ queryKey: keyOf(workflowId) })

const schedulesOf = async (workflowId: string) =>
  (await client.triggers.list(workflowId)).filter((each) => each.type === "schedule")

/** When it is due: `0 9 * * 1-5, Europe/Berlin`. */
const whenOf = ({ cron, everySeconds, timezone }: ScheduleItem): string =>
  cron === null ? `every ${numberText(everySeconds ?? 0)} s` : `${cron}, ${timezone}`

/** A trigger with its next times. */
const useTrigger = ({ id, workflowId }: ScheduleItem) =>
  useQuery({
    queryKey: [...keyOf(workflowId), id],
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
    <TriggerForm
      workflowId={workflowId}
      known={data satisfies Schedule}
      onSaved={() => refresh(workflowId)}
      onClose={onClose}
    />
  )
}

const Switch = ({
  item,
  readOnly,
}: {
  readonly item: ScheduleItem
  readonly readOnly: boolean
}) => {
  const { id, workflowId } = item
  const { error, isPending, mutate } = useMutation({
    mutationFn: (enabled: boolean) => client.triggers.update(workflowId, id, { enabled }),
    onSettled: () => refresh(workflowId),
  })
  return (
    <>
      <input
        type="checkbox"
        aria-label={`Starts runs: ${whenOf(item)}`}
        checked={item.enabled}
        disabled={readOnly || isPending}
        onChange={({ target }) => mutate(target.checked)}
      />
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
    </>
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
              <Switch item={item} readOnly={readOnly} />
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

/** The tab. */
export const WorkflowTriggers = ({
  id,
  readOnly,
}: {
  readonly id: string
  readonly readOnly: boolean
}) => {
  const query = useQuery({ queryKey: keyOf(id), queryFn: () => schedulesOf(id) })
  const [asked, setAsked] = useState<{ readonly what: Asked; readonly item: ScheduleItem }>()
  const [isMaking, setIsMaking] = useState(false)
  const items = query.data ?? []
  const close = () => setAsked(undefined)
  return (
    <>
      {!readOnly && (
        <p>
          <button type="button" className="primary" onClick={() => setIsMaking(true)}>
            New schedule
          </button>
        </p>
      )}
      <Listed
        query={query}
        count={items.length}
        empty="No schedules yet. A schedule starts runs by itself, by a cron text or an interval."
      >
        <Rows items={items} readOnly={readOnly} onAsk={(what, item) => setAsked({ what, item })} />
      </Listed>
      {isMaking && (
        <TriggerForm
          workflowId={id}
          onSaved={() => refresh(id)}
          onClose={() => setIsMaking(false)}
        />
      )}
      {asked?.what === "times" && <Times item={asked.item} onClose={close} />}
      {asked?.what === "edit" && <Editing item={asked.item} onClose={close} />}
      {asked?.what === "remove" && (
        <Confirm
          title="Remove the schedule?"
          action="Remove"
          act={async () => {
            await client.triggers.remove(id, asked.item.id)
            await refresh(id)
          }}
          onClose={close}
        >
          <p>It starts nothing any more. Its runs stay.</p>
        </Confirm>
      )}
    </>
  )
}
