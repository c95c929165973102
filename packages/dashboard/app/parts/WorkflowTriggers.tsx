/**
 * What starts runs of a workflow by itself: its schedules, its inbound webhooks, and the ends of
 * runs of other workflows.
 */
import type {
  InboundWebhook,
  RunEndTrigger,
  ScheduleItem,
  TriggerItem,
} from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client, serverUrl } from "../Console.ts"
import { Listed } from "./Listed.tsx"
import { RunEndForm } from "./RunEndForm.tsx"
import { RunEndTable } from "./RunEndTable.tsx"
import { ScheduleForm } from "./ScheduleForm.tsx"
import { ScheduleTable } from "./ScheduleTable.tsx"
import { ShownOnce } from "./ShownOnce.tsx"
import { TriggerPause } from "./TriggerPause.tsx"
import { triggersKey } from "./TriggerSwitch.tsx"
import { WebhookForm } from "./WebhookForm.tsx"
import { WebhookTable } from "./WebhookTable.tsx"

const isSchedule = (item: TriggerItem): item is ScheduleItem => item.type === "schedule"
const isRunEnd = (item: TriggerItem): item is RunEndTrigger => item.type === "run_end"
const isWebhook = (item: TriggerItem): item is InboundWebhook => item.type === "webhook"

/** The tab. */
export const WorkflowTriggers = ({
  id,
  readOnly,
}: {
  readonly id: string
  readonly readOnly: boolean
}) => {
  const query = useQuery({ queryKey: triggersKey(id), queryFn: () => client.triggers.list(id) })
  const [making, setMaking] = useState<TriggerItem["type"]>()
  const [path, setPath] = useState<string>()
  const items = query.data ?? []
  const [schedules, webhooks] = [items.filter(isSchedule), items.filter(isWebhook)]
  const runEnds = items.filter(isRunEnd)
  const close = () => setMaking(undefined)
  return (
    <>
      {!readOnly && (
        <p className="actions">
          <button type="button" className="primary" onClick={() => setMaking("schedule")}>
            New schedule
          </button>
          <button type="button" onClick={() => setMaking("webhook")}>
            New webhook
          </button>
          <button type="button" onClick={() => setMaking("run_end")}>
            After a run
          </button>
          <TriggerPause />
        </p>
      )}
      <Listed
        query={query}
        count={items.length}
        empty={
          "Nothing starts it by itself. A schedule does, by a cron text or an interval, a " +
          "webhook, when another system calls its address, and so does the end of a run of " +
          "another workflow."
        }
      >
        {schedules.length > 0 && <ScheduleTable items={schedules} readOnly={readOnly} />}
        {webhooks.length > 0 && (
          <WebhookTable id={id} items={webhooks} onAddress={setPath} readOnly={readOnly} />
        )}
        {runEnds.length > 0 && <RunEndTable items={runEnds} readOnly={readOnly} />}
      </Listed>
      {making === "schedule" && <ScheduleForm workflowId={id} onClose={close} />}
      {making === "run_end" && <RunEndForm workflowId={id} onClose={close} />}
      {making === "webhook" && <WebhookForm workflowId={id} onMade={setPath} onClose={close} />}
      {path !== undefined && (
        <ShownOnce noun="address" text={serverUrl + path} onClose={() => setPath(undefined)} />
      )}
    </>
  )
}
