/**
 * The workflows that somebody has open in this process: who, and which revision is stored.
 *
 * Guarantees: who comes, and what is saved through this process, is told at once; who leaves, after
 * a moment, because a stream that begins anew is no leaving. Nothing is written anywhere. Leaves
 * out: who has a workflow open in another process; what is saved there is found by looking.
 */
import type { Person, Presence, StoredRevision } from "@millrace/api/PresenceWire"
import type { AccountId, SessionId, WorkflowId } from "@millrace/core/domain/Id"
import {
  CurrentLimits,
  liveLooksAtOnce,
  openWorkflowMillis,
  peopleListed,
} from "@millrace/core/domain/Limits"
import type { Role } from "@millrace/core/domain/Session"
import { WorkflowNotFound } from "@millrace/core/engine/Refusals"
import { limited } from "@millrace/core/engine/StoreDeadline"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import type { Scope } from "effect"
import { Clock, Deferred, Effect, Latch, Option, RcMap, Semaphore } from "effect"
import { logStorage } from "../Errors.ts"
import { IsDraining } from "../Health.ts"
import type { Caller } from "./Operation.ts"

/** How long somebody who has left is still shown; a client begins a stream anew after a second. */
const leavingMillis = 1_500

/** How often a stream looks whether it is over. */
const pauseMillis = 1_000

/** How long a look may take. */
const patienceMillis = 5_000

/** After so long without a change a viewer is told so. */
const silenceMillis = 15_000

/** A session with a workflow open. */
interface Present {
  readonly id: SessionId
  readonly name: string | null
  readonly role: Role
}

/** The session of a call; an API key is nobody. */
const presentOf = ({ name = null, session }: Caller): Present | undefined =>
  session === undefined ? undefined : { id: session.id, name, role: session.role }

/** An item of the stream of a workflow. */
export type WorkflowItem = Presence | StoredRevision | "silence"

/** What a viewer hears: items, the first time what is known. */
export type WorkflowNews = ReadonlyArray<WorkflowItem> | "over"

const orderOf = ({ isSelf, name, role }: Person): string =>
  `${isSelf ? 0 : 1}${name === null ? `1${role}` : `0${name}`}`

/** A workflow that somebody has open. Mutable. */
export class OpenWorkflow {
  /** True once the workflow is gone. */
  hasEnded = false
  /** Rises whenever viewers are told. */
  version = 1
  revision: number
  #savedBy: Present | undefined
  readonly #present = new Map<SessionId, Present & { readonly tabs: number }>()
  #changed = Deferred.makeUnsafe<void>()

  constructor(revision: number) {
    this.revision = revision
  }

  /** Waits for the next change. */
  get changed(): Effect.Effect<void> {
    return Deferred.await(this.#changed)
  }

  enter(who: Present): void {
    this.#count(who, 1)
    this.wake()
  }

  /** Nobody is told before {@link wake}. */
  leave(who: Present): void {
    this.#count(who, -1)
  }

  /** A revision is stored. An older one than is known is no news. */
  saved(revision: number, by: Present | undefined): void {
    if (revision <= this.revision) return
    this.revision = revision
    this.#savedBy = by
    this.wake()
  }

  end(): void {
    this.hasEnded = true
    this.wake()
  }

  wake(): void {
    this.version += 1
    const told = this.#changed
    this.#changed = Deferred.makeUnsafe()
    Deferred.doneUnsafe(told, Effect.void)
  }

  /** Who is here, as the session `self` is told. */
  presence(self: SessionId | undefined): Presence {
    const all = Array.from(this.#present.values(), ({ id, ...who }): Person => {
      return { ...who, isSelf: id === self }
    })
    const people = all.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
    const more = Math.max(0, people.length - peopleListed)
    return { people: people.slice(0, peopleListed), more }
  }

  /** What is stored, as the session `self` is told. */
  stored(self: SessionId | undefined): StoredRevision {
    const by = this.#savedBy
    const savedBy =
      by === undefined ? null : { name: by.name, role: by.role, isSelf: by.id === self }
    return { etag: `"${this.revision}"`, savedBy }
  }

  #count(who: Present, more: number): void {
    const tabs = (this.#present.get(who.id)?.tabs ?? 0) + more
    if (tabs > 0) this.#present.set(who.id, { ...who, tabs })
    else this.#present.delete(who.id)
  }
}

/** A viewer: what comes next, each time that it is run. */
const viewerOf = Effect.fnUntraced(function* (open: OpenWorkflow, self: SessionId | undefined) {
  const isDraining = yield* IsDraining
  const { streamMillis } = yield* CurrentLimits
  const begin = yield* Clock.currentTimeMillis
  let heardAt = begin
  let presence = ""
  let revision = 0
  const news = (): ReadonlyArray<WorkflowItem> => {
    const [people, text] = [open.presence(self), JSON.stringify(open.presence(self))]
    const isMoved = text !== presence
    const isSaved = open.revision !== revision
    presence = text
    revision = open.revision
    return [...(isMoved ? [people] : []), ...(isSaved ? [open.stored(self)] : [])]
  }
  let version = 0
  const next: Effect.Effect<WorkflowNews> = Effect.gen(function* () {
    while (true) {
      const now = yield* Clock.currentTimeMillis
      if (open.hasEnded || isDraining() || now - begin >= streamMillis) return "over"
      const { changed } = open
      const found = version === open.version ? [] : news()
      version = open.version
      if (found.length > 0 || now - heardAt >= silenceMillis) {
        heardAt = now
        return found.length > 0 ? found : ["silence"]
      }
      yield* Effect.raceFirst(changed, Effect.sleep(pauseMillis))
    }
  })
  return next
})

/** Looks now and then, and when a change of this process asks for it. */
const watch = Effect.fnUntraced(function* (
  open: OpenWorkflow,
  find: Effect.Effect<Option.Option<{ readonly revision: number }>, StorageError>,
  due: Latch.Latch,
) {
  const look = Effect.matchEffect(limited("OpenWorkflows.look", patienceMillis)(find), {
    onFailure: (error) => Effect.asVoid(logStorage(error)),
    onSuccess: (found) =>
      Effect.sync(() => {
        if (Option.isSome(found)) open.saved(found.value.revision, undefined)
        else open.end()
      }),
  })
  while (!open.hasEnded) {
    yield* Effect.raceFirst(due.await, Effect.sleep(openWorkflowMillis))
    yield* due.close
    yield* look
  }
})

/** What the operations on workflows tell of those that are open, and what opens them. */
export interface OpenWorkflows {
  /** Opens a workflow until the scope closes. The answer gives what comes next. */
  readonly open: (
    caller: Caller,
    id: WorkflowId,
  ) => Effect.Effect<Effect.Effect<WorkflowNews>, WorkflowNotFound | StorageError, Scope.Scope>
  /** A call has changed or removed a workflow; absent: the revision has to be looked up. */
  readonly changed: (caller: Caller, id: string, revision?: number) => void
}

const keyOf = (account: AccountId, id: string): string => JSON.stringify([account, id])

/** One for all that is open in this process. */
export const make = Effect.gen(function* () {
  const store = yield* WorkflowStore
  const looks = yield* Semaphore.make(liveLooksAtOnce)
  const known = new Map<string, { readonly open: OpenWorkflow; readonly due: Latch.Latch }>()
  const opened = yield* RcMap.make({
    lookup: Effect.fnUntraced(function* (key: string) {
      const [account, id] = JSON.parse(key) as [AccountId, WorkflowId]
      const find = looks.withPermit(store.find(account, id))
      const due = yield* Latch.make(false)
      const open = new OpenWorkflow(0)
      const entry = { open, due }
      // Before the read, so that no change is missed.
      yield* Effect.acquireRelease(
        Effect.sync(() => known.set(key, entry)),
        () => Effect.sync(() => known.get(key) === entry && known.delete(key)),
      )
      const found = yield* find
      if (Option.isNone(found)) return yield* new WorkflowNotFound({ workflowId: id })
      open.saved(found.value.revision, undefined)
      yield* Effect.forkScoped(watch(open, find, due))
      return { open, scope: yield* Effect.scope }
    }),
  })
  const enter = ({ open, scope }: Opened, who: Present) =>
    Effect.acquireRelease(
      Effect.sync(() => open.enter(who)),
      () => {
        open.leave(who)
        const told = Effect.andThen(
          Effect.sleep(leavingMillis),
          Effect.sync(() => open.wake()),
        )
        return Effect.forkIn(told, scope)
      },
    )
  return {
    open: Effect.fnUntraced(function* (caller, id) {
      const found = yield* RcMap.get(opened, keyOf(caller.account, id))
      const who = presentOf(caller)
      if (who !== undefined) yield* enter(found, who)
      return yield* viewerOf(found.open, who?.id)
    }),
    changed: (caller, id, revision) => {
      const found = known.get(keyOf(caller.account, id))
      if (found === undefined) return
      if (revision === undefined) found.due.openUnsafe()
      else found.open.saved(revision, presentOf(caller))
    },
  } satisfies OpenWorkflows
})

interface Opened {
  readonly open: OpenWorkflow
  readonly scope: Scope.Scope
}
