/**
 * Who may call now: so many calls at once, in all, to one origin, and for one account.
 *
 * A call beyond a bound waits until one that has ended makes room for it. Then the accounts that
 * wait take turns, and so do the origins that one of them waits for, so that whoever wants many
 * calls delays its own more than those of others.
 *
 * Guarantees: no bound is ever exceeded; nothing waits that could be made; calls of one account to
 * one origin are made in the order in which they came; whoever is interrupted while it waits leaves
 * the line. Leaves out: how long a call may wait; whoever makes it says that by interrupting it.
 */
import { Effect } from "effect"
import { EgressFailed } from "./Failure.ts"

/** How many calls may be under way at once, and how many may wait. */
export interface CallBounds {
  readonly atOnce: number
  /** To one origin (scheme, host and port), whoever calls. */
  readonly perOrigin: number
  /** For one account, wherever they go. */
  readonly perAccount: number
  /** Calls of one account that wait; one more of them fails. */
  readonly waitingPerAccount: number
}

/** One call, from its arrival to its end. */
interface Turn {
  readonly account: string
  readonly origin: string
  hasCome: boolean
  /** Called when its turn comes, where it has to wait. */
  onTurn: () => void
}

/** What waits of one account: by origin, the one whose turn was longest ago first. */
interface Line {
  readonly origins: Map<string, Set<Turn>>
  size: number
}

const add = (counts: Map<string, number>, key: string, by: number): void => {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

/** Puts an entry behind all others. */
const toEnd = <V>(map: Map<string, V>, key: string, value: V): void => {
  map.delete(key)
  map.set(key, value)
}

/** The turns of one guard. Mutable; every method but `inTurn` is one synchronous step. */
export class Turns {
  readonly #bounds: CallBounds
  /** By account, the one whose turn was longest ago first. */
  readonly #lines = new Map<string, Line>()
  readonly #origins = new Map<string, number>()
  readonly #accounts = new Map<string, number>()
  #total = 0

  constructor(bounds: CallBounds) {
    this.#bounds = bounds
  }

  /** Makes a call of an account to an origin in its turn. */
  inTurn<A, E, R>(
    account: string,
    origin: string,
    call: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E | EgressFailed, R> {
    return Effect.uninterruptibleMask<A, E | EgressFailed, R>((restore) => {
      const turn = this.#join(account, origin)
      if (turn === undefined) return Effect.fail(this.#crowded())
      const inTime = turn.hasCome ? call : Effect.andThen(this.#wait(turn), call)
      return Effect.onExit(restore(inTime), () => Effect.sync(() => this.#leave(turn)))
    })
  }

  #crowded(): EgressFailed {
    const { waitingPerAccount } = this.#bounds
    const message = `Too many calls: ${waitingPerAccount} of this account already wait in turn`
    return new EgressFailed({ reason: "crowded", message })
  }

  #wait(turn: Turn): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (turn.hasCome) resume(Effect.void)
      else turn.onTurn = () => resume(Effect.void)
    })
  }

  /** A turn that has come, or one that waits; `undefined` where too many do. */
  #join(account: string, origin: string): Turn | undefined {
    const turn: Turn = { account, origin, hasCome: false, onTurn: () => undefined }
    if (this.#hasRoom(turn)) {
      this.#start(turn)
      return turn
    }
    const line = this.#lines.get(account) ?? { origins: new Map<string, Set<Turn>>(), size: 0 }
    if (line.size >= this.#bounds.waitingPerAccount) return undefined
    const waiting = line.origins.get(origin) ?? new Set()
    waiting.add(turn)
    line.size += 1
    line.origins.set(origin, waiting)
    this.#lines.set(account, line)
    return turn
  }

  #leave(turn: Turn): void {
    if (!turn.hasCome) return this.#takeOut(turn)
    this.#count(turn, -1)
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#takeOut(next)
      this.#start(next)
      next.onTurn()
    }
  }

  /** The first that waits and could be made now; its account and its origin go to the end. */
  #next(): Turn | undefined {
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

  #takeOut(turn: Turn): void {
    const line = this.#lines.get(turn.account)
    const waiting = line?.origins.get(turn.origin)
    if (line === undefined || waiting?.delete(turn) !== true) return
    line.size -= 1
    if (waiting.size === 0) line.origins.delete(turn.origin)
    if (line.size === 0) this.#lines.delete(turn.account)
  }

  #start(turn: Turn): void {
    turn.hasCome = true
    this.#count(turn, 1)
  }

  #count({ account, origin }: Turn, by: number): void {
    this.#total += by
    add(this.#origins, origin, by)
    add(this.#accounts, account, by)
  }

  #hasRoom({ account, origin }: Turn): boolean {
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
