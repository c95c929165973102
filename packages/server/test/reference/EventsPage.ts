/**
 * The page of all events: when each one comes, and what it says.
 */
import { RunId, WorkflowId } from "@millrace/core/domain/Id"
import { testEvent } from "@millrace/core/domain/Delivery"
import { missedEvent } from "@millrace/core/domain/EventType"
import { payloadOf } from "@millrace/core/domain/Payload"
import { RunEventType } from "@millrace/core/domain/RunEvent"
import { pageOf, table } from "./Table.ts"

const meanings: Readonly<Record<RunEventType, string>> = {
  "run.started": "The run has left the queue, and its first nodes may start.",
  "run.completed": "The run has ended, and no node of it is FAILED.",
  "run.failed":
    "The run has ended because a node failed, its time was over, or it lost its processes.",
  "run.canceled": "The run has ended because somebody canceled it. `error` says so.",
  "node.completed":
    "A node has ended. Its failure may have been handled by `onError`; its logs tell.",
  "node.failed":
    "A node has failed for good: its last attempt failed, and its `onError` is `fail`.",
}

const ofNode = {
  status: "COMPLETED",
  nodeId: "fetch",
  nodeType: "http_request",
  attempt: 1,
  sequence: 2,
}
const ofEnd = {
  status: "COMPLETED",
  completedNodes: 2,
  failedNodes: 0,
  estimatedCredits: 0,
  actualCredits: 0,
  sequence: 4,
}

const ofMissed = {
  triggerId: "trg_...",
  missed: 2,
  lastMissedAt: "2030-01-31T09:00:00.000Z",
}

const named = (data: object): string =>
  Object.keys(data)
    .map((key) => `\`${key}\``)
    .join(", ")

const dataOf = (type: RunEventType) => {
  if (type === "run.started") return { status: "RUNNING", sequence: 1 }
  return type.startsWith("node.") ? ofNode : ofEnd
}

const body = payloadOf(
  {
    runId: RunId.make("run_..."),
    workflowId: WorkflowId.make("wf_..."),
    type: "run.completed",
    at: Date.UTC(2030, 0, 31, 12),
    error: null,
    data: ofEnd,
  },
  { order: 7 },
)

/** The page. */
export const eventsPage = () =>
  pageOf(
    "events",
    "Events",
    "A run has events, numbered from 1 without gaps. Each is stored together with the " +
      "change that it " +
      "tells of. The stream `GET /api/v1/runs/{id}/events` has them, so has `run.events()` of an " +
      "engine, and a [webhook](../how-to/verify-webhooks.md) sends them.",
    table(
      ["Type", "When it comes", "`data`"],
      RunEventType.literals.map((type) => [`\`${type}\``, meanings[type], named(dataOf(type))]),
    ),
    "`sequence` in `data` is the event's number. After `run.completed`, `run.failed` and " +
      "`run.canceled` no event comes. Outputs are not in events: read the run.",
    `\`${missedEvent}\` goes to the webhook of a ` +
      "[schedule](../how-to/start-on-a-schedule.md) when times have started no run. It belongs " +
      "to no run: `runId` is null, `error` says why the last one started none, and `data` has " +
      `${named(ofMissed)}. \`millrace webhooks test\` sends \`${testEvent}\`, which belongs to ` +
      "no run either.",
    "## The body of a webhook",
    "`success` is true exactly where `error` is null. `metadata` is that of the start, or of the " +
      "schedule.",
    `\`\`\`json\n${JSON.stringify(JSON.parse(body), null, 2)}\n\`\`\``,
  )
