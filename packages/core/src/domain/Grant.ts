/**
 * Grants: credits that an account is given. Each has a place in the order of use, and may have an
 * end.
 *
 * An entry of a run does not name a grant. It only lowers the account's balance, and {@link settle}
 * works out later which grants were used. An account is settled before its grants change, and
 * before anything else changes after the end of a grant. So the order of use is the same between
 * two settlements, and the result is as if every entry had named its grant.
 *
 * Guarantees: pure; settling twice is settling once. Leaves out: keeping grants.
 */
import { Schema } from "effect"
import { MicroCredits } from "./Credits.ts"
import { AccountId } from "./Id.ts"
import type { CreditAccount, Entry, HandEntryKind } from "./Ledger.ts"
import { applied, keyOf } from "./Ledger.ts"
import { Timestamp } from "./Timestamp.ts"

/** Credits that were given to an account at once. */
export const Grant = Schema.Struct({
  /** The caller's id, unique within the account. Making a grant again with it changes nothing. */
  id: Schema.String,
  accountId: AccountId,
  amount: MicroCredits,
  /** What was left of it when the account was last settled. */
  remaining: MicroCredits,
  /** A grant with a lower number is used first. */
  priority: Schema.Int,
  expiresAt: Schema.NullOr(Timestamp),
  actor: Schema.String,
  reason: Schema.String,
  at: Timestamp,
})
export type Grant = typeof Grant.Type

/** A grant to make. */
export type GrantRequest = Omit<Grant, "remaining" | "at">

/** Who changes an account by hand, and why. */
export interface AdminOperation {
  /** The caller's id, unique within account and kind. Repeating it changes nothing. */
  readonly id: string
  readonly accountId: AccountId
  readonly actor: string
  readonly reason: string
}

/** A correction of a balance; `amount` may be negative. */
export interface Adjustment extends AdminOperation {
  readonly amount: MicroCredits
}

/** An account with all its grants that have credits left, in any order. */
export interface CreditBalance {
  readonly account: CreditAccount
  readonly grants: ReadonlyArray<Grant>
}

/** An account after a change, with the entries to append to its ledger. */
export interface Settled extends CreditBalance {
  /** Also the grants that have no credits left now. */
  readonly grants: ReadonlyArray<Grant>
  readonly entries: ReadonlyArray<Entry>
}

/** By priority; of equal priority the one that ends first, then the oldest. */
const byUse = (a: Grant, b: Grant): number =>
  a.priority - b.priority ||
  (a.expiresAt ?? Infinity) - (b.expiresAt ?? Infinity) ||
  a.at - b.at ||
  (a.id < b.id ? -1 : 1)

const isOver = ({ expiresAt }: Grant, now: Timestamp): boolean =>
  expiresAt !== null && expiresAt <= now

const sumOf = (grants: ReadonlyArray<Grant>): MicroCredits =>
  grants.reduce((sum, { remaining }) => sum + remaining, 0)

/** Takes an amount out of grants in this order, as far as it goes. */
const consume = (grants: ReadonlyArray<Grant>, amount: MicroCredits): ReadonlyArray<Grant> => {
  let left = amount
  return grants.map((grant) => {
    const part = Math.min(grant.remaining, Math.max(0, left))
    left -= part
    return part === 0 ? grant : { ...grant, remaining: grant.remaining - part }
  })
}

const expiry = (grant: Grant, lapsed: MicroCredits, now: Timestamp): Entry => {
  // `remaining` only falls, so every expiry of the same grant has a different key.
  const part = `${grant.id}:${grant.remaining}`
  return {
    key: keyOf("expire", null, part),
    accountId: grant.accountId,
    kind: "expire",
    posted: 0 - lapsed,
    reserved: 0,
    runId: null,
    part,
    actor: null,
    reason: null,
    at: now,
  }
}

const dueAtOf = (grants: ReadonlyArray<Grant>): Timestamp | null => {
  const ends = grants.flatMap(({ expiresAt, remaining }) =>
    expiresAt === null || remaining === 0 ? [] : [expiresAt],
  )
  return ends.length === 0 ? null : Math.min(...ends)
}

/**
 * Works out what is left of each grant, and expires the rest of grants that have ended. Credits
 * that open runs have reserved do not expire. They stay with the grants that would pay for them,
 * and expire when no reservation needs them any more.
 */
export const settle = ({ account, grants }: CreditBalance, now: Timestamp): Settled => {
  const ordered = grants.toSorted(byUse)
  const used = consume(ordered, sumOf(ordered) - account.posted)
  const entries: Array<Entry> = []
  let toCover = account.reserved
  const left = used.map((grant) => {
    const kept = Math.min(grant.remaining, Math.max(0, toCover))
    toCover -= kept
    const lapsed = isOver(grant, now) ? grant.remaining - kept : 0
    if (lapsed > 0) entries.push(expiry(grant, lapsed, now))
    return lapsed === 0 ? grant : { ...grant, remaining: kept }
  })
  const next = { ...applied(account, entries), dueAt: dueAtOf(left) }
  return { account: next, grants: left, entries }
}

/** True when an account has to be settled before anything else moves on it. */
export const isDue = ({ dueAt }: CreditAccount, now: Timestamp): boolean =>
  dueAt !== null && dueAt <= now

const manualEntry = (
  kind: HandEntryKind,
  operation: AdminOperation,
  posted: MicroCredits,
  at: Timestamp,
): Entry => ({
  key: keyOf(kind, null, operation.id),
  accountId: operation.accountId,
  kind,
  posted,
  reserved: 0,
  runId: null,
  part: operation.id,
  actor: operation.actor,
  reason: operation.reason,
  at,
})

const append = (settled: Settled, entry: Entry, grants: ReadonlyArray<Grant>): Settled => ({
  account: { ...applied(settled.account, [entry]), dueAt: dueAtOf(grants) },
  grants,
  entries: [...settled.entries, entry],
})

/** Gives credits to an account. The store checks whether the grant exists already. */
export const grant = (balance: CreditBalance, request: GrantRequest, now: Timestamp): Settled => {
  const settled = settle(balance, now)
  const given: Grant = { ...request, remaining: request.amount, at: now }
  const entry = manualEntry("grant", request, request.amount, now)
  return append(settled, entry, [...settled.grants, given])
}

/**
 * Corrects a balance. Added credits become a grant without an end, which is used last. Credits are
 * taken from the grants in the same order as for a run.
 */
export const adjust = (balance: CreditBalance, adjustment: Adjustment, now: Timestamp): Settled => {
  const settled = settle(balance, now)
  const { amount, ...operation } = adjustment
  const entry = manualEntry("adjust", operation, amount, now)
  if (amount <= 0) return append(settled, entry, settled.grants)
  const added: Grant = {
    ...operation,
    id: entry.key,
    amount,
    remaining: amount,
    priority: lastPriority,
    expiresAt: null,
    at: now,
  }
  return append(settled, entry, [...settled.grants, added])
}

/** The priority of what is used when nothing else is left. */
const lastPriority = 2_147_483_647

/** Turns metering of an account on or off. */
export const meter = (
  balance: CreditBalance,
  operation: AdminOperation,
  metered: boolean,
  now: Timestamp,
): Settled => {
  const settled = settle(balance, now)
  return append(
    settled,
    manualEntry(metered ? "meter" : "unmeter", operation, 0, now),
    settled.grants,
  )
}
