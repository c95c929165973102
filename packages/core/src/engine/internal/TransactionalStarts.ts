/**
 * What is different for starts inside a transaction of the caller.
 *
 * What such a start stores may be rolled back, and until the transaction ends, others wait for rows
 * that it inserts under a key of theirs. So a run gets a definition of its own, unless the one that
 * it could share is known to be committed.
 *
 * Guarantees: nothing is remembered of what a transaction has read or stored. Leaves out: the
 * start itself.
 */
import { Effect, Equal, FiberSet, type Scope } from "effect"
import type { RunId } from "../../domain/Id.ts"
import { definitionsKnown } from "../../domain/Limits.ts"
import type { Definition } from "../../domain/Run.ts"
import { evaluatedId, isShared } from "../../domain/Run.ts"
import type { Workflow } from "../../domain/Workflow.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import { StoreManifest } from "../../ports/StoreManifest.ts"
import type { Transactions } from "../../ports/Transactions.ts"
import { refusedBy } from "../../ports/Transactions.ts"
import { WorkflowStore } from "../../ports/WorkflowStore.ts"
import { BoundedMap } from "../BoundedMap.ts"
import { takenWorkflow } from "./TakenWorkflow.ts"

/** For starts inside transactions of callers. */
export interface TransactionalStarts extends Pick<Transactions, "isWithin" | "within"> {
  /** The definition of a run: the shared one, or the same under the run's id. */
  readonly definitionFor: (id: RunId, shared: Definition) => Definition
  /** A run of this workflow was stored in the transaction. */
  readonly stored: (workflow: Workflow, shared: Definition) => Effect.Effect<void, StorageError>
}

const none: TransactionalStarts = {
  isWithin: Effect.succeed(false),
  within: () => () => Effect.die("replaced"),
  definitionFor: (_, shared) => shared,
  stored: () => Effect.void,
}

const over = (
  { announce, define, isWithin, within }: Transactions,
  workflows: WorkflowStore["Service"],
  fork: (effect: Effect.Effect<void>) => unknown,
): TransactionalStarts => {
  /** Shared definitions: true for those that are committed, false while they are being stored. */
  const known = new BoundedMap<string, boolean>(definitionsKnown)

  /** Stores the definition outside the transaction, if the committed workflow is this one. */
  const share = Effect.fnUntraced(
    function* (workflow: Workflow, shared: Definition) {
      const { accountId: account, id: workflowId, version = "draft" } = workflow
      const stored = yield* takenWorkflow(workflows, account, { workflowId, version })
      if (!Equal.equals(stored, workflow)) return
      yield* define(shared)
      known.set(shared.id, true)
    },
    (effect, _, { id }) =>
      Effect.ensuring(
        Effect.ignore(effect),
        Effect.sync(() => {
          if (known.get(id) !== true) known.delete(id)
        }),
      ),
  )
  return {
    isWithin,
    within,
    definitionFor: (id, shared) =>
      isShared(shared) && known.get(shared.id) !== true
        ? { ...shared, id: evaluatedId(id) }
        : shared,
    stored: (workflow, shared) =>
      Effect.map(announce, () => {
        // What it calls was read in the transaction, too, and may never be committed.
        const callsOthers = shared.settings.workflows !== undefined
        if (!isShared(shared) || callsOthers || known.has(shared.id)) return
        known.set(shared.id, false)
        fork(share(workflow, shared))
      }),
  }
}

/** What the manifest of the store allows. Definitions are shared until the scope closes. */
export const make: Effect.Effect<
  TransactionalStarts,
  never,
  StoreManifest | WorkflowStore | Scope.Scope
> = Effect.gen(function* () {
  const { name, transactions } = yield* StoreManifest
  if (transactions === undefined) return { ...none, within: () => () => refusedBy(name) }
  // The context of this effect: a fiber of a caller would take its transaction along.
  const fork = yield* FiberSet.makeRuntime<never, void>()
  return over(transactions, yield* WorkflowStore, fork)
})
