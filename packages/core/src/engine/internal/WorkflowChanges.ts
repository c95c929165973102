/**
 * Changes of stored workflows, of each one after the other.
 *
 * Changes that arrive while the workflow is being written wait, and are written together: each is
 * decided on what the one before it made of the workflow, and one guarded write stores the last. So
 * many changes at once cost few statements, and nobody is decided on what is gone.
 *
 * Guarantees: changes of one process are made in the order in which they came, and each hears what
 * became of it once that is stored; those of other processes come in between, never halfway. What
 * waits, and how often a write is tried, is bounded; at most one look-up or write of a workflow is
 * under way. Whoever is interrupted while it waits changes nothing. Leaves out: what a change is.
 */
import { Clock, Effect, Exit, Option, Result } from "effect"
import type { AccountId, WorkflowId } from "../../domain/Id.ts"
import type { Limits } from "../../domain/Limits.ts"
import { CurrentLimits } from "../../domain/Limits.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Workflow } from "../../domain/Workflow.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { WorkflowStore } from "../../ports/WorkflowStore.ts"
import { TooManyChanges, WorkflowNotFound } from "../Refusals.ts"

/** What a change is decided with, besides the workflow. */
export interface ChangeContext {
  readonly limits: Limits
  readonly now: Timestamp
}

/** What a change makes of a workflow, and what its caller gets once that is stored. */
export interface Changed<A> {
  /** The same object where nothing changes; else with the next revision. */
  readonly workflow: Workflow
  readonly answer: A
}

/** Decides a change. It may be asked several times, each time with what is stored by then. */
export type Decide<A, E> = (
  stored: Workflow,
  environment: ChangeContext,
) => Result.Result<Changed<A>, E>

/** Why a change was not made, whatever it is. */
export type NotChanged = WorkflowNotFound | TooManyChanges | StorageError

/** A change that waits; of what type its answer is, only its caller knows. */
interface Waiting {
  readonly decide: Decide<unknown, unknown>
  readonly environment: ChangeContext
  readonly resolve: (exit: Exit.Exit<unknown, unknown>) => void
}

type Store = WorkflowStore["Service"]

/** Which workflow is changed. */
interface Place {
  readonly account: AccountId
  readonly id: WorkflowId
}

/** How many callers hear at once what became of their changes. */
const toldAtOnce = 8

const keyOf = ({ account, id }: Place): string => `${account} ${id}`

/** Decides changes one after the other; answers with what they make of the workflow together. */
const decideAll = Effect.fnUntraced(function* (stored: Workflow, changes: ReadonlyArray<Waiting>) {
  let workflow = stored
  const exits: Array<Exit.Exit<unknown, unknown>> = []
  for (const { environment, decide } of changes) {
    const decided = decide(workflow, environment)
    if (Result.isSuccess(decided)) {
      workflow = decided.success.workflow
      exits.push(Exit.succeed(decided.success.answer))
    } else exits.push(Exit.fail(decided.failure))
    // A large graph takes a while to check, and there may be many.
    yield* Effect.yieldNow
  }
  return { workflow, exits }
})

/** Makes changes together: reads, decides and writes, anew where another process was faster. */
const changeAll = Effect.fnUntraced(function* (
  store: Store,
  { account, id }: Place,
  changes: ReadonlyArray<Waiting>,
) {
  const attempts = changes[0]!.environment.limits.workflowWriteAttempts
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const found = yield* store.find(account, id)
    if (Option.isNone(found)) return yield* new WorkflowNotFound({ workflowId: id })
    const { exits, workflow } = yield* decideAll(found.value, changes)
    if (workflow === found.value) return exits
    if ((yield* store.replace(workflow, found.value.revision)) === "replaced") return exits
  }
  return yield* new TooManyChanges({ workflowId: id })
})

/** The changes that one process is asked for. Mutable. */
export class WorkflowChanges {
  readonly #store: Store
  readonly #clock: Clock.Clock
  readonly #fork: (effect: Effect.Effect<void>) => unknown
  /** Under the workflow's place, as long as something of it is under way. */
  readonly #waiting = new Map<string, Set<Waiting>>()

  private constructor(
    store: Store,
    clock: Clock.Clock,
    fork: (effect: Effect.Effect<void>) => unknown,
  ) {
    this.#store = store
    this.#clock = clock
    this.#fork = fork
  }

  /** Over a store. What is under way when the caller's scope closes goes on. */
  static readonly make = Effect.fnUntraced(function* (store: Store) {
    const fork = Effect.runForkWith(yield* Effect.context())
    return new WorkflowChanges(store, yield* Clock.Clock, fork)
  })

  /** Waits for the changes before it, decides on the workflow as stored then, and stores it. */
  readonly change = Effect.fnUntraced(function* <A, E>(
    this: WorkflowChanges,
    account: AccountId,
    id: WorkflowId,
    decide: Decide<A, E>,
  ): Effect.fn.Return<A, E | NotChanged> {
    const environment = {
      limits: yield* CurrentLimits,
      now: this.#clock.currentTimeMillisUnsafe(),
    }
    return yield* this.#submit<A, E>({ account, id }, decide, environment)
  })

  #submit<A, E>(
    place: Place,
    decide: Decide<A, E>,
    environment: ChangeContext,
  ): Effect.Effect<A, E | NotChanged> {
    return Effect.callback<A, E | NotChanged>((resume) => {
      const settle = resume as Waiting["resolve"]
      const one: Waiting = { decide, environment, resolve: settle }
      const waiting = this.#waiting.get(keyOf(place))
      if (waiting === undefined) {
        const first = new Set([one])
        this.#waiting.set(keyOf(place), first)
        this.#fork(this.#work(place, first))
        return Effect.sync(() => void first.delete(one))
      }
      if (waiting.size >= environment.limits.workflowChangesWaiting) {
        return resume(Effect.fail(new TooManyChanges({ workflowId: place.id })))
      }
      waiting.add(one)
      return Effect.sync(() => void waiting.delete(one))
    })
  }

  /** Makes what waits, all of it at once, until nothing is left. */
  readonly #work = Effect.fnUntraced(function* (
    this: WorkflowChanges,
    place: Place,
    waiting: Set<Waiting>,
  ) {
    while (waiting.size > 0) {
      const changes = [...waiting]
      waiting.clear()
      const exit = yield* Effect.exit(changeAll(this.#store, place, changes))
      for (const [index, { resolve: settle }] of changes.entries()) {
        settle(Exit.isSuccess(exit) ? exit.value[index]! : exit)
        // What its caller does now takes longer than the change did, and others want to be served.
        if (index % toldAtOnce === toldAtOnce - 1) yield* Effect.yieldNow
      }
    }
    this.#waiting.delete(keyOf(place))
  })
}
