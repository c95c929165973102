/**
 * Bounds the calls at the same time: in all, to one origin, and for one account.
 *
 * A call beyond a bound waits until another call has ended. Accounts with waiting calls take turns,
 * and so do the origins of an account. So an account with many calls delays mostly its own calls.
 *
 * Guarantees: no bound is exceeded, and no call waits without need. Calls of one account to one
 * origin are made in the order in which they came. An interrupted call no longer waits. Leaves out:
 * how long a call may wait; the caller interrupts it.
 */
import { Effect } from "effect"
import { EgressFailed } from "./Failure.ts"

/** How many calls may be made at the same time, and how many may wait. */
export interface CallBounds {
  readonly atOnce: number
  /** To one origin (scheme, host and port), by all accounts. */
  readonly perOrigin: number
  /** For one account, to all origins. */
  readonly perAccount: number
  /** Waiting calls of one account; a further call fails. */
  readonly waitingPerAccount: number
}

/** One call, from its arrival to its end. */
interface QueuedCall {
  readonly account: string
  readonly origin: string
  hasStarted: boolean
  /** Called when a waiting call may start. */
  onStart: () => void
}

/** The waiting calls of one account, by origin; the origin whose turn was longest ago is first. */
interface Line {
  readonly origins: Map<string, Set<QueuedCall>>
  size: number
}

const add = (counts: Map<string, number>, key: string, by: number): void => {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

/** Moves an entry to the end. */
const toEnd = <V>(map: Map<string, V>, key: string, value: V): void => {
  map.delete(key)
  map.set(key, value)
}

/** The turns of one guard. Mutable; every method but `inTurn` is one synchronous step. */
export class Turns {
  readonly #bounds: CallBounds
  /** By account; the account whose turn was longest ago is first. */
  readonly #lines = new Map<string, Line>()
  readonly #origins = new Map<string, number>()
  readonly #accounts = new Map<string, number>()
  #total = 0

  constructor(bounds: CallBounds) {
    this.#bounds = bounds
  }

  /** Makes a call when it is its turn. Fails if too many calls of the account wait. */
  inTurn<A, E, R>(
    account: string,
    origin: string,
    call: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | EgressFailed, R> {
    return Effect.uninterruptibleMask<A, E | EgressFailed, R>((restore) => {
      const queued = this.#join(account, origin)
      if (queued === undefined) return Effect.fail(this.#crowded())
      const inTime = queued.hasStarted ? call : Effect.andThen(this.#wait(queued), call)
      return Effect.onExit(restore(inTime), () => Effect.sync(() => this.#leave(queued)))
    })
  }

  #crowded(): EgressFailed {
    const { waitingPerAccount } = this.#bounds
    const message = `Too many calls: ${waitingPerAccount} of this account already wait in turn`
    return new EgressFailed({ reason: "crowded", message })
  }

  #wait(queued: QueuedCall): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (queued.hasStarted) resume(Effect.void)
      else queued.onStart = () => resume(Effect.void)
    })
  }

  /** The new call, started or waiting; `undefined` if too many wait. */
  #join(account: string, origin: string): QueuedCall | undefined {
    const queued: QueuedCall = { account, origin, hasStarted: false, onStart: () => undefined }
    if (this.#hasRoom(queued)) {
      this.#start(queued)
      return queued
    }
    const line = this.#lines.get(account) ?? {
      origins: new Map<string, Set<QueuedCall>>(),
      size: 0,
    }
    if (line.size >= this.#bounds.waitingPerAccount) return undefined
    const waiting = line.origins.get(origin) ?? new Set()
    waiting.add(queued)
    line.size += 1
    line.origins.set(origin, waiting)
    this.#lines.set(account, line)
    return queued
  }

  #leave(queued: QueuedCall): void {
    if (!queued.hasStarted) return this.#takeOut(queued)
    this.#count(queued, -1)
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#takeOut(next)
      this.#start(next)
      next.onStart()
    }
  }

  /** The next waiting call that may start; its account and its origin go to the end. */
  #next(): QueuedCall | undefined {
    if (this.#total >= this.#bounds.atOnce) return undefined
    for (const [account, line] of this.#lines) {
      if (!this.#hasRoomFor(account)) continue
      for (const [origin, waiting] of line.origins) {
        if (!this.#hasRoomAt(origin)) continue
        toEnd(this.#lines, account, line)
        toEnd(line.origins, origin, waiting)
        return waiting.values().next().value
      }
    }
    return undefined
  }

  /** Takes a waiting call out of its line. */
  #takeOut(queued: QueuedCall): void {
    const line = this.#lines.get(queued.account)!
    const waiting = line.origins.get(queued.origin)!
    waiting.delete(queued)
    line.size -= 1
    if (waiting.size === 0) line.origins.delete(queued.origin)
    if (line.size === 0) this.#lines.delete(queued.account)
  }

  #start(queued: QueuedCall): void {
    queued.hasStarted = true
    this.#count(queued, 1)
  }

  #count({ account, origin }: QueuedCall, by: number): void {
    this.#total += by
    add(this.#origins, origin, by)
    add(this.#accounts, account, by)
  }

  #hasRoom({ account, origin }: QueuedCall): boolean {
    const isFree = this.#total < this.#bounds.atOnce
    return isFree && this.#hasRoomAt(origin) && this.#hasRoomFor(account)
  }

  #hasRoomAt(origin: string): boolean {
    return (this.#origins.get(origin) ?? 0) < this.#bounds.perOrigin
  }

  #hasRoomFor(account: string): boolean {
    return (this.#accounts.get(account) ?? 0) < this.#bounds.perAccount
  }
}
