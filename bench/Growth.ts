// What a tenant waits for on a store that is full beside one that is almost empty: whatever can be
// asked, through the stores and not over HTTP, and what servers do among many accounts.
//
// `GROWTH_RUNS` sets another number of runs for a quick look. Each question is put to both stores
// in turn, so that a machine that slows down slows both; medians are reported.
import { AccountId, type RunId, WorkflowId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits, itemsSkipped } from "@millrace/core/domain/Limits"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { SearchTooBroad } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Postgres, Stores } from "@millrace/postgres"
import type { Context } from "effect"
import { Effect, Layer, Redacted, References, type Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"
import * as Claims from "./GrowthClaims.ts"
import * as Fill from "./GrowthFill.ts"

const runs = Number(process.env["GROWTH_RUNS"] ?? 1_000_000)
const sizes: Readonly<Record<"small" | "full", Fill.Size>> = {
  small: { runs: 1_000, accounts: 10, workflows: 11 },
  full: { runs, accounts: Math.min(10_000, Math.max(10, runs / 100)), workflows: 211 },
}

const warmUps = 5
const repetitions = 31
const day = 86_400_000

/** The account with half of all runs, and one with few. */
const large = AccountId.make("acc_bench")
const few = AccountId.make("acc_00003")

type Services = RunStore | WorkflowStore | LedgerStore | WebhookStore | KeyStore | SqlClient

/** What is asked of one store: runs, keys and workflows that are there. */
interface Known {
  readonly ids: ReadonlyArray<RunId>
  readonly now: number
}

type Question = (known: Known) => Effect.Effect<unknown, SearchTooBroad | StorageError, Services>

const list = (query: Partial<Parameters<RunStore["Service"]["list"]>[0]>) =>
  RunStore.use((store) => store.list({ account: large, limit: 20, ...query }))
const deliveries = (query: Partial<Parameters<WebhookStore["Service"]["list"]>[0]>) =>
  WebhookStore.use((store) => store.list({ account: large, limit: 20, ...query }))
const usage = (account: AccountId, { now }: Known) =>
  LedgerStore.use((store) =>
    store.usage({ account, from: now - Fill.days * day, until: now + day }),
  )
const middle = ({ ids }: Known) => ids[Math.floor(ids.length / 2)]!
const workflowId = WorkflowId.make("wf_0007")
const search =
  (text: string): Question =>
  () =>
    list({ search: text })

const listings: Readonly<Record<string, Question>> = {
  "runs: first page": () => list({}),
  "runs: cursor in the middle": ({ now }) =>
    list({ after: { createdAt: now - 30 * day, id: "run_" } }),
  "runs: few of an account": () => list({ account: few }),
  "runs: skip 400": () => list({ skip: 400 }),
  [`runs: skip ${itemsSkipped}`]: () => list({ skip: itemsSkipped }),
  "runs: COMPLETED": () => list({ status: "COMPLETED" }),
  "runs: FAILED": () => list({ status: "FAILED" }),
  "runs: FAILED, skip 40": () => list({ status: "FAILED", skip: 40 }),
  "runs: RUNNING": () => list({ status: "RUNNING" }),
  "runs: of a workflow": () => list({ workflowId }),
  "runs: FAILED of a workflow": () => list({ workflowId, status: "FAILED" }),
}

const searches: Readonly<Record<string, Question>> = {
  "search: part of many names": search("CUSTOMER"),
  "search: part of one name": search("customer 9"),
  "search: no hit": search("zebra"),
  "search: no hit, of few": () => list({ account: few, search: "zebra" }),
  "search: part of many errors": search("answered 503"),
  "search: one error": ({ ids }) =>
    search(`request ${Number.parseInt(ids[0]!.slice(-12), 16)}`)({ ids, now: 0 }),
  "search: whole run id": (known) => search(middle(known))(known),
  "search: beginning of a run id": (known) => search(middle(known).slice(0, 16))(known),
  "search: FAILED, no hit": () => list({ search: "zebra", status: "FAILED" }),
  "search: of a workflow, no hit": () => list({ search: "zebra", workflowId }),
}

const reads: Readonly<Record<string, Question>> = {
  "run with its nodes": (known) => RunStore.use((store) => store.find(large, middle(known))),
  "events of a run": (known) => RunStore.use((store) => store.events(large, middle(known), 0)),
  "batch of 20 runs": ({ ids }) =>
    RunStore.use((store) => store.findMany(large, ids.slice(0, 20), 16_777_216)),
  "latest outputs": () =>
    RunStore.use((store) => store.latestOutputs(large, workflowId, ["n0", "n4"])),
  "idempotency key": () => RunStore.use((store) => store.findStart(large, "nobody")),
  "usage of 60 days": (known) => usage(large, known),
  "usage of 60 days, of few": (known) => usage(few, known),
  balance: () => LedgerStore.use((store) => store.find(large)),
  "ledger statement": () =>
    LedgerStore.use((store) => store.statement({ account: large, limit: 100 })),
  "deliveries: first page": () => deliveries({}),
  "deliveries: few of an account": () => deliveries({ account: few }),
  "deliveries: FAILED": () => deliveries({ state: "FAILED" }),
  "deliveries: FAILED, of few": () => deliveries({ account: few, state: "FAILED" }),
  "deliveries: PENDING": () => deliveries({ state: "PENDING" }),
  "deliveries: DELIVERED": () => deliveries({ state: "DELIVERED" }),
  "deliveries: skip 400": () => deliveries({ skip: 400 }),
  "deliveries: of a run": (known) => deliveries({ runId: middle(known) }),
  "workflows: first page": () =>
    WorkflowStore.use((store) => store.list({ account: large, limit: 20 })),
  "workflows: search, no hit": () =>
    WorkflowStore.use((store) => store.list({ account: large, limit: 20, search: "zebra" })),
  "keys of an account": () => KeyStore.use((store) => store.list(large)),
}

const questions = { ...listings, ...searches, ...reads }

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

/** The stores of a database of its own, filled. */
const open = Effect.fnUntraced(function* (
  server: Redacted.Redacted,
  name: keyof typeof sizes,
): Effect.fn.Return<Context.Context<Services>, unknown, Scope.Scope> {
  const create = SqlClient.use((sql) => sql.unsafe(`CREATE DATABASE growth_${name}`))
  yield* Effect.provide(create, Postgres.layer({ url: server, maxConnections: 1 }))
  const url = Redacted.make(Redacted.value(server).replace(/\/postgres$/, `/growth_${name}`))
  const services = yield* Layer.build(
    Stores.layer.pipe(
      Layer.provideMerge(Postgres.layer({ url, maxConnections: 4 })),
      Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Warn")),
      Layer.provideMerge(Layer.succeed(CurrentLimits, defaultLimits)),
    ),
  )
  const begun = performance.now()
  yield* Effect.provideContext(Fill.fill(sizes[name]), services)
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0)
  process.stderr.write(`${sizes[name].runs} runs in ${seconds} s\n`)
  return services
})

const knownOf = Effect.map(Fill.runIds(large, 40), (ids): Known => ({ ids, now: Date.now() }))

/** How long each question takes on both stores, in turn; those of the first rounds do not count. */
const ask = Effect.fnUntraced(function* (stores: ReadonlyArray<Context.Context<Services>>) {
  const asked: Array<{ readonly known: Known; readonly store: Context.Context<Services> }> = []
  for (const store of stores) {
    asked.push({ store, known: yield* Effect.provideContext(knownOf, store) })
  }
  const rows: Array<Row> = []
  for (const [name, question] of Object.entries(questions)) {
    const times = asked.map(() => [] as Array<number>)
    for (let round = -warmUps; round < repetitions; round++) {
      for (const [index, { known, store }] of asked.entries()) {
        const begun = performance.now()
        yield* Effect.provideContext(question(known), store)
        if (round >= 0) times[index]!.push(performance.now() - begun)
      }
    }
    rows.push(rowOf(name, median(times[0]!), median(times[1]!)))
  }
  return rows
})

interface Row {
  readonly question: string
  readonly "almost empty ms": number
  readonly "full ms": number
  readonly ratio: number
}

const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits))

const rowOf = (question: string, small: number, full: number): Row => ({
  question,
  "almost empty ms": rounded(small),
  "full ms": rounded(full),
  ratio: rounded(full / small),
})

const claims = Effect.fnUntraced(function* (stores: ReadonlyArray<Context.Context<Services>>) {
  const on = <A, E>(index: number, work: Effect.Effect<A, E, Services>) =>
    Effect.provideContext(work, stores[index]!)
  const rows: Array<Row> = []
  for (const crowd of ["half", "all"] as const) {
    const name = `claim under caps, ${crowd} of the accounts full`
    const few = median(yield* on(0, Claims.underCaps(sizes.small.accounts, crowd)))
    rows.push(rowOf(name, few, median(yield* on(1, Claims.underCaps(sizes.full.accounts, crowd)))))
  }
  for (const accounts of [1, 1_000]) {
    const small = yield* on(0, Claims.dueAtOnce(50, accounts))
    const full = yield* on(1, Claims.dueAtOnce(sizes.full.runs / 20, accounts))
    rows.push(rowOf(`${sizes.full.runs / 20} due beside 50, of ${accounts} accounts`, small, full))
  }
  return rows
})

/** Fills both stores, asks, and prints a table. */
export const measure = (): Promise<ReadonlyArray<Row>> =>
  Effect.gen(function* () {
    const server = yield* TestPostgres.ownServer(
      "durable",
      "-c autovacuum=off -c wal_level=minimal -c max_wal_senders=0",
    )
    const stores = [yield* open(server, "small"), yield* open(server, "full")]
    const answers = yield* ask(stores)
    console.table(answers)
    const taken = yield* claims(stores)
    console.table(taken)
    return [...answers, ...taken]
  }).pipe(Effect.scoped, Effect.runPromise)
