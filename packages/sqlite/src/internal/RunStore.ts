/**
 * The run store.
 *
 * Guarantees: every method is one read or one write; leases follow Effect's clock. Leaves out: the
 * statements; see the modules beside this one.
 */
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore, SearchTooBroad } from "@millrace/core/ports/RunStore"
import { Clock, Effect, Layer, Option } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"
import * as IdempotencyKeys from "./IdempotencyKeys.ts"
import * as Inboxes from "./Inboxes.ts"
import * as RunActivity from "./RunActivity.ts"
import * as RunClaims from "./RunClaims.ts"
import * as RunCommits from "./RunCommits.ts"
import * as RunRecords from "./RunRecords.ts"
import { typesInUse } from "./TypesInUse.ts"

const commit = (db: Connection) => (given: RunCommit) =>
  Effect.flatMap(
    db.write("RunStore.commit", (now) => RunCommits.commit(db, given, now)),
    (refusal) => (refusal === undefined ? Effect.void : Effect.fail(refusal)),
  )

const make = (db: Connection): RunStore["Service"] => {
  const write = <A>(method: string, step: (now: number) => A) =>
    db.write(`RunStore.${method}`, step)
  const read = <A>(method: string, step: (now: number) => A) => db.read(`RunStore.${method}`, step)
  return RunStore.of({
    commit: commit(db),
    claim: (request) => write("claim", (now) => RunClaims.claim(db, request, now)),
    takeOver: (account, id, runner) =>
      write("takeOver", () => Option.fromUndefinedOr(RunClaims.takeOver(db, account, id, runner))),
    heartbeat: (runner, leaseMillis, blocked) =>
      write("heartbeat", (now) => RunClaims.heartbeat(db, runner, now + leaseMillis, blocked)),
    requeue: (runner, ids) => write("requeue", () => RunClaims.requeue(db, runner, ids)),
    send: (account, id, message) =>
      write("send", (now) => RunCommits.send(db, account, id, message, now, true)),
    signal: (account, workflowId, signal) =>
      write("signal", (now) => RunCommits.signal(db, account, workflowId, signal, now)),
    inboxes: (requests) =>
      read("inboxes", (now) =>
        requests
          .map((request) => Inboxes.read(db, request, now))
          .filter(({ messages }) => messages.length > 0),
      ),
    now: Clock.currentTimeMillis,
    endLease: (runner, blocked) =>
      write("endLease", (now) => RunClaims.endLease(db, runner, blocked, now)),
    cappedAccounts: (limit) => read("cappedAccounts", () => RunClaims.cappedAccounts(db, limit)),
    load: (query) => read("load", () => RunClaims.load(db, query)),
    queueLength: (limit) => read("queueLength", (now) => RunClaims.queueLength(db, limit, now)),
    suspects: (limit) => read("suspects", (now) => RunClaims.suspects(db, limit, now)),
    clearLosses: (id) => write("clearLosses", () => RunClaims.clearLosses(db, id)),
    typesInUse: (oldest) => read("typesInUse", () => typesInUse(db, oldest)),
    find: (account, id) =>
      read("find", () =>
        Option.map(Option.fromUndefinedOr(RunRecords.rowOf(db, account, id)), (row) =>
          RunRecords.recordOf(db, row),
        ),
      ),
    findMany: (account, ids, mostBytes) =>
      read("findMany", () => RunRecords.findMany(db, account, ids, mostBytes)),
    latestOutputs: (account, workflowId, nodeIds) =>
      read("latestOutputs", () => RunRecords.latestOutputs(db, account, workflowId, nodeIds)),
    findStart: (account, key) =>
      read("findStart", (now) =>
        Option.fromUndefinedOr(IdempotencyKeys.find(db, account, key, now)),
      ),
    list: (query) =>
      Effect.flatMap(
        read("list", () => RunRecords.list(db, query)),
        (found) => (found instanceof SearchTooBroad ? Effect.fail(found) : Effect.succeed(found)),
      ),
    children: (query) => read("children", () => RunRecords.children(db, query)),
    activity: (query) => read("activity", () => RunActivity.activity(db, query)),
    events: (account, id, after) => read("events", () => RunRecords.events(db, account, id, after)),
    eventsOfMany: (requests) =>
      read("eventsOfMany", () =>
        requests.flatMap((request) => RunRecords.eventsFound(db, request)),
      ),
  })
}

/** The run store of a database. */
export const layer: Layer.Layer<RunStore, never, Database> = Layer.effect(
  RunStore,
  Effect.map(Database, make),
)
