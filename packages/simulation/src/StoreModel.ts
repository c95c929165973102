/**
 * What the stores mean: all ports over plain lists, written straight from their contracts and
 * slow on purpose, so that one can see that it is right. Real stores are compared with it.
 *
 * Guarantees: shares nothing with any store. Leaves out: durability, speed and concurrency.
 */
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Context, Effect, Layer } from "effect"
import * as Keys from "./StoreModelKeys.ts"
import * as Ledger from "./StoreModelLedger.ts"
import * as Runs from "./StoreModelRuns.ts"
import * as Workflows from "./StoreModelWorkflows.ts"

/** One implementation of all ports. */
export interface Stores {
  readonly workflows: WorkflowStore["Service"]
  readonly runs: RunStore["Service"]
  readonly ledger: LedgerStore["Service"]
  readonly keys: KeyStore["Service"]
}

/** The model: stores that one can look into. */
export interface StoreModel {
  readonly stores: Stores
  readonly workflows: Workflows.WorkflowModel
  readonly runs: Runs.RunModel
  readonly ledger: Ledger.LedgerModel
  readonly keys: Keys.KeyModel
}

/** An empty model. */
export const make = (): StoreModel => {
  const workflows = Workflows.make()
  const ledger = Ledger.make()
  const keys = Keys.make()
  const runs = Runs.make(ledger, workflows, keys)
  const stores = {
    workflows: workflows.store,
    runs: runs.store,
    ledger: ledger.store(runs.runs),
    keys: keys.store,
  }
  return { stores, workflows, runs, ledger, keys }
}

/** Every port. */
export type Services = WorkflowStore | RunStore | LedgerStore | KeyStore

/** These stores as the services that others ask for. */
export const contextOf = ({ keys, ledger, runs, workflows }: Stores): Context.Context<Services> =>
  Context.make(KeyStore, keys).pipe(
    Context.add(RunStore, runs),
    Context.add(LedgerStore, ledger),
    Context.add(WorkflowStore, workflows),
  )

/** The stores that the caller is given as services. */
export const current: Effect.Effect<Stores, never, Services> = Effect.gen(function* () {
  const workflows = yield* WorkflowStore
  const runs = yield* RunStore
  const ledger = yield* LedgerStore
  const keys = yield* KeyStore
  return { workflows, runs, ledger, keys }
})

/** An empty model as a layer, so that the suite of every store can be run on it, too. */
export const layer: Layer.Layer<Services> = Layer.syncContext(() => contextOf(make().stores))
