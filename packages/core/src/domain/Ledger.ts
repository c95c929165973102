/**
 * The ledger: what moves credits on an account, as entries that are only ever appended.
 *
 * An account has two numbers. `posted` is what it was given and has not used; `reserved` is the
 * part of it that open runs have set aside. What is available is the difference. Every entry says
 * by how much it changes each of the two, so that a balance is the sum of its entries.
 *
 * Guarantees: pure, in integers; an entry has a key that is unique within its account, so one that
 * is made twice counts once. Leaves out: keeping entries; that is the store's, in one step with
 * whatever caused them.
 */
import { Schema } from "effect"
import { MicroCredits } from "./Credits.ts"
import { AccountId, RunId } from "./Id.ts"
import { Timestamp } from "./Timestamp.ts"

/** What a run does to its account. */
export const RunEntryKind = Schema.Literals(["reserve", "extend", "post", "void"])
export type RunEntryKind = typeof RunEntryKind.Type

/**
 * What is done to an account from outside its runs. `expire` takes back what is left of a grant;
 * `meter` and `unmeter` move no credits: from then on runs need cover, or need none.
 */
export const HandEntryKind = Schema.Literals(["grant", "adjust", "expire", "meter", "unmeter"])
export type HandEntryKind = typeof HandEntryKind.Type

/** One line of the ledger. Amounts are signed changes. */
export const Entry = Schema.Struct({
  /** Unique within the account; see {@link keyOf}. */
  key: Schema.String,
  accountId: AccountId,
  kind: Schema.Union([RunEntryKind, HandEntryKind]),
  posted: MicroCredits,
  reserved: MicroCredits,
  runId: Schema.NullOr(RunId),
  /** What it is about: a node and a commit, a commit, a grant, a operation; else empty. */
  part: Schema.String,
  /** Who did it, where a person did. */
  actor: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String),
  at: Timestamp,
})
export type Entry = typeof Entry.Type

/** An entry at its place in the ledger; of one account a later entry has the larger number. */
export interface NumberedEntry extends Entry {
  readonly number: number
}

/** An entry as a commit of a run carries it: account and run are the run's own. */
export type RunEntry = Pick<Entry, "part" | "posted" | "reserved" | "at"> & {
  readonly kind: RunEntryKind
}

/** The node that an entry is about; `null` where it is about none. */
export const nodeOf = ({ kind, part }: Pick<Entry, "kind" | "part">): string | null =>
  kind === "post" ? part.slice(0, part.lastIndexOf("#")) : null

/** `post:run_1:node#3`, `void:run_1`, `grant:welcome`. */
export const keyOf = (kind: Entry["kind"], runId: RunId | null, part: string): string =>
  [kind, ...(runId === null ? [] : [runId]), ...(part === "" ? [] : [part])].join(":")

/** An entry of a run, as the ledger has it. */
export const entryOf = (accountId: AccountId, runId: RunId, entry: RunEntry): Entry => ({
  key: keyOf(entry.kind, runId, entry.part),
  accountId,
  kind: entry.kind,
  posted: entry.posted,
  reserved: entry.reserved,
  runId,
  part: entry.part,
  actor: null,
  reason: null,
  at: entry.at,
})

/** What is known of an account's credits. */
export interface CreditAccount {
  readonly accountId: AccountId
  /** True when a run that is not covered is refused; else both numbers are only recorded. */
  readonly metered: boolean
  readonly posted: MicroCredits
  readonly reserved: MicroCredits
  /** From when on a grant may have run out: it is settled before anything else moves. */
  readonly dueAt: Timestamp | null
}

/** An account that no credits have moved on yet. */
export const unopened = (accountId: AccountId): CreditAccount => ({
  accountId,
  metered: false,
  posted: 0,
  reserved: 0,
  dueAt: null,
})

/** What new runs can set aside. Negative where work cost more than was there. */
export const availableOf = ({ posted, reserved }: CreditAccount): MicroCredits => posted - reserved

type Change = Pick<Entry, "kind" | "posted" | "reserved">

/** What these entries set aside that was available before; only they need cover. */
export const amountToReserve = (entries: ReadonlyArray<Change>): MicroCredits =>
  entries.reduce(
    (sum, { kind, reserved }) => (kind === "reserve" || kind === "extend" ? sum + reserved : sum),
    0,
  )

/** True when an account can bear this demand. */
export const covers = (account: CreditAccount, demand: MicroCredits): boolean =>
  !account.metered || demand === 0 || demand <= availableOf(account)

/** The account behind these entries. */
export const applied = (account: CreditAccount, entries: ReadonlyArray<Change>): CreditAccount => {
  let { metered, posted, reserved } = account
  for (const entry of entries) {
    posted += entry.posted
    reserved += entry.reserved
    if (entry.kind === "meter" || entry.kind === "unmeter") metered = entry.kind === "meter"
  }
  return { ...account, metered, posted, reserved }
}

/** Sets a run's estimate aside, with its start. Once per run. */
export const reserve = (amount: MicroCredits, at: Timestamp): RunEntry => ({
  kind: "reserve",
  part: "",
  posted: 0,
  reserved: amount,
  at,
})

/** Sets more aside for a run that needs more. Once per commit, which its revision names. */
export const extend = (amount: MicroCredits, revision: number, at: Timestamp): RunEntry => ({
  kind: "extend",
  part: String(revision),
  posted: 0,
  reserved: amount,
  at,
})

/**
 * Takes what a node cost, out of what its run still has set aside (`held`) and, where that is not
 * enough, out of what is available: done work is paid for in any case. A node that is tried again
 * may cost something each time, so it is once per node and commit.
 */
export const post = (
  held: MicroCredits,
  nodeId: string,
  revision: number,
  amount: MicroCredits,
  at: Timestamp,
): RunEntry => ({
  kind: "post",
  part: `${nodeId}#${revision}`,
  posted: 0 - amount,
  reserved: 0 - Math.min(amount, held),
  at,
})

/** Gives back what a run still has set aside, at its end. Once per run. */
export const voidRest = (held: MicroCredits, at: Timestamp): RunEntry => ({
  kind: "void",
  part: "",
  posted: 0,
  reserved: 0 - held,
  at,
})
