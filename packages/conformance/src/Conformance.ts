/**
 * The suite that every store must pass, whoever wrote it.
 *
 * Guarantees: tests use identifiers of their own and empty nothing, so a database may hold other
 * data; leases of none and of an hour stand in for waiting, so any clock will do. Leaves out:
 * speed, durability and migrations, which differ from store to store.
 */
import { layer } from "@effect/vitest"
import type { KeyStore } from "@millrace/core/ports/KeyStore"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, type Layer } from "effect"
import { accountCapSuite } from "./AccountCapSuite.ts"
import { admitSuite } from "./AdmitSuite.ts"
import { currentWorkflowSuite } from "./CurrentWorkflowSuite.ts"
import { keyStoreSuite } from "./KeyStoreSuite.ts"
import { ledgerSuite } from "./LedgerSuite.ts"
import { namedCreditSuite } from "./NamedCreditSuite.ts"
import { type Listing, pagingSuite } from "./PagingSuite.ts"
import { runClaimSuite } from "./RunClaimSuite.ts"
import { runCommitSuite } from "./RunCommitSuite.ts"
import { runLossSuite } from "./RunLossSuite.ts"
import { runParkingSuite } from "./RunParkingSuite.ts"
import { runReadSuite } from "./RunReadSuite.ts"
import { runTurnSuite } from "./RunFairnessSuite.ts"
import * as Samples from "./Samples.ts"
import { idempotencyKeySuite } from "./IdempotencyKeySuite.ts"
import { usageSuite } from "./UsageSuite.ts"
import { workflowStoreSuite } from "./WorkflowStoreSuite.ts"

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

/** What depends on how fast a store is. */
export interface Options {
  /** How many runs an account has queued when a test is about a crowd; 10,000 unless said. */
  readonly crowd?: number
}

/**
 * Registers, in the test file that calls it, a block of tests over one build of the layer.
 *
 * Runs on the real clock. No other claimer may be at work in the same database meanwhile: a claim
 * takes runs of every account.
 */
export const conformance = <E>(
  name: string,
  stores: Layer.Layer<WorkflowStore | RunStore | LedgerStore | KeyStore, E>,
  { crowd = 10_000 }: Options = {},
): void =>
  layer(stores, { timeout: "120 seconds", excludeTestServices: true })(name, (it) => {
    workflowStoreSuite(it)
    pagingSuite(it, "WorkflowStore.list", workflows)
    runCommitSuite(it)
    idempotencyKeySuite(it)
    currentWorkflowSuite(it)
    runReadSuite(it)
    pagingSuite(it, "RunStore.list", runs)
    runClaimSuite(it)
    runLossSuite(it)
    runParkingSuite(it)
    runTurnSuite(it, crowd)
    accountCapSuite(it)
    ledgerSuite(it)
    namedCreditSuite(it)
    usageSuite(it)
    keyStoreSuite(it)
    admitSuite(it)
  })
