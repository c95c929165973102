/**
 * The suite that every store must pass, whoever wrote it.
 *
 * Guarantees: tests use identifiers of their own and empty nothing, so a database may hold other
 * data; leases of none and of an hour stand in for waiting, so any clock will do. Leaves out:
 * speed, durability and migrations, which differ from store to store.
 */
import { layer } from "@effect/vitest"
import * as OptionalPorts from "@millrace/core/engine/OptionalPorts"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { Manifest, OptionalPort } from "@millrace/core/ports/StoreManifest"
import { optionalPorts, StoreManifest } from "@millrace/core/ports/StoreManifest"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Layer } from "effect"
import { absentPortSuite } from "./internal/AbsentPortSuite.ts"
import { accountCapSuite } from "./internal/AccountCapSuite.ts"
import { admitSuite } from "./internal/AdmitSuite.ts"
import { concurrencyKeySuite } from "./internal/ConcurrencyKeySuite.ts"
import { computedRunSuite } from "./internal/ComputedRunSuite.ts"
import { currentWorkflowSuite } from "./internal/CurrentWorkflowSuite.ts"
import { inboxSuite } from "./internal/InboxSuite.ts"
import { keyStoreSuite } from "./internal/KeyStoreSuite.ts"
import { ledgerSuite } from "./internal/LedgerSuite.ts"
import { namedCreditSuite } from "./internal/NamedCreditSuite.ts"
import { type Listing, pagingSuite } from "./internal/PagingSuite.ts"
import { runActivitySuite } from "./internal/RunActivitySuite.ts"
import { runClaimSuite } from "./internal/RunClaimSuite.ts"
import { runCommitSuite } from "./internal/RunCommitSuite.ts"
import { typesInUseSuite } from "./internal/TypesInUseSuite.ts"
import { runLossSuite } from "./internal/RunLossSuite.ts"
import { runOrderSuite } from "./internal/RunOrderSuite.ts"
import { runParkingSuite } from "./internal/RunParkingSuite.ts"
import { runReadSuite } from "./internal/RunReadSuite.ts"
import { runTurnSuite } from "./internal/RunFairnessSuite.ts"
import * as Samples from "./Samples.ts"
import { idempotencyKeySuite } from "./internal/IdempotencyKeySuite.ts"
import { secretStoreSuite } from "./internal/SecretStoreSuite.ts"
import { sessionStoreSuite } from "./internal/SessionStoreSuite.ts"
import { signalSuite } from "./internal/SignalSuite.ts"
import { type Transact, transactionSuite } from "./internal/TransactionSuite.ts"
import { runEndSuite } from "./internal/RunEndSuite.ts"
import { triggerStoreSuite } from "./internal/TriggerStoreSuite.ts"
import { usageSuite } from "./internal/UsageSuite.ts"
import { valueStoreSuite } from "./internal/ValueStoreSuite.ts"
import { webhookTestSuite } from "./internal/WebhookTestSuite.ts"
import { workflowStoreSuite } from "./internal/WorkflowStoreSuite.ts"

const workflows: Listing<unknown, WorkflowStore> = {
  insert: (samples, createdAt) =>
    WorkflowStore.use((store) => {
      const workflow = samples.workflow({ createdAt })
      return Effect.as(store.insert(workflow), workflow)
    }),
  list: (account, request) => WorkflowStore.use((store) => store.list({ account, ...request })),
}

const runs: Listing<unknown, RunStore> = {
  insert: (samples, createdAt) =>
    RunStore.use((store) => {
      const run = samples.run({ createdAt, status: "CANCELED" })
      return Effect.as(store.commit(Samples.newRun(run)), run)
    }),
  list: (account, request) => RunStore.use((store) => store.list({ account, ...request })),
}

/** The stores with ports that refuse in the place of those that are not there. */
const portsOf = <E, R>(stores: Layer.Layer<WorkflowStore | RunStore | R, E>, manifest: Manifest) =>
  OptionalPorts.layer.pipe(
    Layer.provideMerge(Layer.merge(stores, Layer.succeed(StoreManifest, manifest))),
  )

const everything = Object.keys(optionalPorts) as ReadonlyArray<OptionalPort>

/** What differs from store to store. */
export interface Options<R = never> {
  /** How many runs an account has queued when a test is about a crowd; 10,000 unless said. */
  readonly crowd?: number
  /** What the store has beside workflows and runs; everything unless said. */
  readonly manifest?: Manifest
  /** How a caller has a transaction; absent where the store takes part in none. */
  readonly transact?: Transact<R>
}

/**
 * Registers, in the test file that calls it, a block of tests over one build of the layer.
 *
 * Runs on the real clock. No other claimer may be at work in the same database meanwhile: a claim
 * takes runs of every account.
 */
export const conformance = <E, R = never>(
  name: string,
  stores: Layer.Layer<WorkflowStore | RunStore | R, E>,
  { crowd = 10_000, manifest = { name, ports: everything }, transact }: Options<R> = {},
): void =>
  layer(portsOf(stores, manifest), { timeout: "120 seconds", excludeTestServices: true })(
    name,
    (it) => {
      workflowStoreSuite(it)
      pagingSuite(it, "WorkflowStore.list", workflows)
      runCommitSuite(it)
      idempotencyKeySuite(it)
      currentWorkflowSuite(it, manifest.ports.includes("ledger"))
      runReadSuite(it)
      runActivitySuite(it)
      pagingSuite(it, "RunStore.list", runs)
      runClaimSuite(it)
      runLossSuite(it)
      typesInUseSuite(it)
      runParkingSuite(it)
      inboxSuite(it, manifest.ports.includes("ledger"))
      computedRunSuite(it, manifest.ports.includes("ledger"))
      signalSuite(it)
      runTurnSuite(it, crowd)
      runOrderSuite(it)
      concurrencyKeySuite(it)
      if (manifest.ports.includes("ledger")) {
        ledgerSuite(it)
        namedCreditSuite(it)
        usageSuite(it)
      }
      if (manifest.ports.includes("keys")) {
        accountCapSuite(it)
        keyStoreSuite(it)
        admitSuite(it)
      }
      if (manifest.ports.includes("secrets")) secretStoreSuite(it)
      if (manifest.ports.includes("values")) valueStoreSuite(it)
      if (manifest.ports.includes("sessions")) sessionStoreSuite(it)
      if (manifest.ports.includes("triggers")) {
        triggerStoreSuite(it)
        webhookTestSuite(it)
        runEndSuite(it)
      }
      if (transact !== undefined) transactionSuite(it, transact)
      absentPortSuite(it, manifest)
    },
  )
