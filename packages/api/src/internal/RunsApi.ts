/**
 * The operations on runs (specification 4.5 to 4.8, and the extensions).
 */
import { Schema } from "effect"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { described, titled } from "./Words.ts"
import { ItemQuery, LiveRunQuery, pageOf, RunQuery, ViewQuery } from "../PageQuery.ts"
import { LiveEvent, SequenceText, StreamedEvent } from "../RunEventWire.ts"
import {
  LoopItem,
  NodeRun,
  RerunBatch,
  RerunFailed,
  RerunPlan,
  RerunRun,
  RunBatch,
  RunDefinition,
  RunDetails,
  RunEstimate,
  RunItem,
  RunRead,
  SendSignal,
  SentSignal,
  StartedRun,
  StartRun,
} from "../RunWire.ts"
import {
  IdParams,
  IdempotencyKeyText,
  NodeParams,
  SignalKeyText,
  SignalParams,
  ValueParams,
} from "../Text.ts"
import {
  BadRequest,
  bodyErrors,
  Conflict,
  NotFound,
  PaymentRequired,
  TooManyRequests,
} from "../WireError.ts"

const list = described(
  "List runs",
  "Newest first. By `cursor` and `limit`, or by `page` and `pageSize`, never both. `search` " +
    "is a part of the workflow's name or of the error in any case, or the beginning of a run " +
    "id. `from` and `to` bound the time of creation; `to` is not among it. `source` is who " +
    "asked: `ui` for people who have signed in, `schedule` for schedules. A cursor goes on with " +
    "the filter it was made for.",
  HttpApiEndpoint.get("list", "/", { query: RunQuery, success: pageOf(RunItem) }),
)

const start = described(
  "Start a run",
  "Freezes the workflow as it is now. Every problem of the graph and of the given values is " +
    "named at once, and nothing is started. What the run is expected to cost is set aside; " +
    "where the account does not cover it, nothing is started. The answer has a `Location`. " +
    "Under an `Idempotency-Key` one run is started, however often the request is repeated " +
    "within 24 hours: repetitions get the first answer with `Idempotent-Replayed: true`, and " +
    "409 if their body is another one, byte for byte.",
  HttpApiEndpoint.post("start", "/", {
    headers: Schema.Struct({ "idempotency-key": Schema.optionalKey(IdempotencyKeyText) }),
    payload: StartRun,
    success: StartedRun.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, PaymentRequired, NotFound, Conflict, TooManyRequests],
  }),
)

const estimate = described(
  "Estimate a run",
  "Says what a start with the same body would cost, node by node, or everything that stands " +
    "against it. Nothing is created.",
  HttpApiEndpoint.post("estimate", "/estimate", {
    payload: StartRun,
    success: RunEstimate,
    error: [...bodyErrors, NotFound],
  }),
)

const rerun = described(
  "Take up a run again",
  "Starts a run that takes over what an ended run has completed, at no credits and without " +
    "events, and executes the rest: nodes that have not completed, those that `from` names, " +
    "those that are drawn otherwise now, and all that follows. It has the values and the webhook " +
    "of the earlier run, and names it in `rerunOf`. Refused while the earlier run goes on, and " +
    "where nothing has to be executed. An `Idempotency-Key` holds as for a start.",
  HttpApiEndpoint.post("rerun", "/:id/rerun", {
    params: IdParams,
    headers: Schema.Struct({ "idempotency-key": Schema.optionalKey(IdempotencyKeyText) }),
    payload: RerunRun,
    success: StartedRun.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, PaymentRequired, NotFound, Conflict, TooManyRequests],
  }),
)

const rerunFailed = described(
  "Take up failed runs again",
  "Starts a rerun of each FAILED run of the filter that has none yet, newest first: as for one " +
    "run, from its failure on. Runs that other runs have started are not looked at. The answer " +
    "says what was started, and what was left out and why; `nextCursor` goes on. However often " +
    "and by how many the request is repeated, a run gets one rerun from it. Under an " +
    "`Idempotency-Key`, a repetition within 24 hours starts nothing for runs that have failed " +
    "since, and has the first answer.",
  HttpApiEndpoint.post("rerunFailed", "/rerun-failed", {
    headers: Schema.Struct({ "idempotency-key": Schema.optionalKey(IdempotencyKeyText) }),
    payload: RerunFailed,
    success: RerunBatch,
    error: [...bodyErrors, Conflict],
  }),
)

const planRerun = described(
  "Plan a rerun",
  "Says which nodes a rerun with the same body would execute and why, which outputs it would " +
    "take over, and what it would cost. Nothing is created.",
  HttpApiEndpoint.post("planRerun", "/:id/rerun/plan", {
    params: IdParams,
    payload: RerunRun,
    success: RerunPlan,
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const batch = described(
  "Read several runs",
  "Unknown ids are left out, repeated ones come once. An answer is bounded: runs whose data " +
    "would go beyond 8 MiB together come with `omitted`, without context, inputs, outputs and " +
    "logs.",
  HttpApiEndpoint.post("batch", "/batch", {
    payload: RunBatch,
    success: RunDetails,
    error: bodyErrors,
  }),
)

const get = described(
  "Read a run",
  "Everything that is known of the run and of each of its nodes. Where the answer would go " +
    "beyond 8 MiB, large values are only named: see `largeValues`. With `view=summary`, the run " +
    "comes without its context and without inputs, outputs and logs, whose `sizes` are given: " +
    "read a node by itself to get them.",
  HttpApiEndpoint.get("get", "/:id", {
    params: IdParams,
    query: ViewQuery,
    success: RunRead,
    error: NotFound,
  }),
)

const node = described(
  "Read a node of a run",
  "Everything that is known of one node. While it is RUNNING or WAITING, its input is what " +
    "edges, overrides and literals imply, without the ports whose literals have expressions.",
  HttpApiEndpoint.get("node", "/:id/nodes/:nodeId", {
    params: NodeParams,
    success: NodeRun,
    error: NotFound,
  }),
)

const items = described(
  "List the items of a loop",
  "What became of each item, by number: the runs that a node of a run has started. Items that " +
    "have not been begun are not listed. Large results are only named: read them from the run " +
    "of the item. A cursor goes on with the filter it was made for.",
  HttpApiEndpoint.get("items", "/:id/nodes/:nodeId/items", {
    params: NodeParams,
    query: ItemQuery,
    success: pageOf(LoopItem),
    error: [BadRequest, NotFound],
  }),
)

const definition = described(
  "Read the graph of a run",
  "The workflow as it was when the run was started, with the changes that its start made, and " +
    "the ports of each node. The workflow itself may have changed since, or be gone.",
  HttpApiEndpoint.get("definition", "/:id/definition", {
    params: IdParams,
    success: RunDefinition,
    error: NotFound,
  }),
)

const events = described(
  "Follow a run",
  "Server-sent events: first a `snapshot` of the run as it is, then every event of the run " +
    "from the first on, or behind the one that `Last-Event-ID` names, as they happen and " +
    "wherever the run executes. The `id` of an event is its number, from 1 without gaps. The " +
    "stream ends after the event that ends the run; whoever has that one already gets 204. It " +
    "also ends after ten minutes or when the server stops: ask again with `Last-Event-ID`, and " +
    "nothing is lost. With `view=summary`, the snapshot is a summary, and a `node` without `id` " +
    "comes whenever status, attempt or `dueAt` of a node move: the node as in a summary. Then, " +
    "without `Last-Event-ID`, what the snapshot has is not told again, but the end of a run is.",
  HttpApiEndpoint.get("events", "/:id/events", {
    params: IdParams,
    query: ViewQuery,
    headers: Schema.Struct({ "last-event-id": Schema.optionalKey(SequenceText) }),
    success: [HttpApiSchema.StreamSse({ events: StreamedEvent }), HttpApiSchema.NoContent],
    error: [BadRequest, NotFound],
  }),
)

const live = described(
  "Watch runs",
  "Server-sent events: first a `page`, as the listing answers it, then a `run` for each new run " +
    "and for each whose item changes, within a second or two, wherever runs execute. An item " +
    "that was sent is sent again when it changes, also if the filter does not fit any more. " +
    "Events have no `id`. The stream ends after ten minutes, when the server stops, and when its " +
    "reader is far behind: ask again, and it begins with a new page. Of runs behind the page, " +
    "the newest 50 RUNNING and 50 QUEUED ones are watched, and none in a search.",
  HttpApiEndpoint.get("live", "/live", {
    query: LiveRunQuery,
    success: HttpApiSchema.StreamSse({ events: LiveEvent }),
    error: BadRequest,
  }),
)

const value = described(
  "Read a large value",
  "The JSON of a value that the run or one of its nodes names in `largeValues`, as a download.",
  HttpApiEndpoint.get("value", "/:id/values/:valueId", {
    params: ValueParams,
    success: HttpApiSchema.StreamUint8Array({ contentType: "application/json" }),
    error: NotFound,
  }),
)

const cancel = described(
  "Cancel a run",
  "At once. Canceling a canceled run changes nothing; other ended runs conflict.",
  HttpApiEndpoint.post("cancel", "/:id/cancel", {
    params: IdParams,
    success: RunItem,
    error: [NotFound, Conflict],
  }),
)

const signal = described(
  "Send a signal to a run",
  "A node `wait_signal` of this name takes it: one that waits, or the first that begins to, " +
    "within seven days. Each signal is taken once. Where the run has 100 signals that nobody has " +
    "taken, and where it has ended, the signal is refused. Under an `Idempotency-Key` one signal " +
    "is sent to the run, however often the request is repeated; the first one counts.",
  HttpApiEndpoint.post("signal", "/:id/signals/:name", {
    params: SignalParams,
    headers: Schema.Struct({ "idempotency-key": Schema.optionalKey(SignalKeyText) }),
    payload: SendSignal,
    success: SentSignal.pipe(HttpApiSchema.status(202)),
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const operations = [
  list,
  live,
  start,
  estimate,
  batch,
  get,
  node,
  items,
  definition,
  value,
] as const

/** `/runs`. */
export class RunsApi extends HttpApiGroup.make("runs")
  .add(...operations, events, cancel, signal, rerun, rerunFailed, planRerun)
  .prefix("/runs")
  .annotateMerge(titled("Runs", "Executions of workflows.")) {}
