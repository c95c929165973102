/**
 * The ledger: every change of an account's credits is an entry, and entries are only appended.
 *
 * An account has two numbers. `posted` is what it was given and has not used; `reserved` is the
 * part of it that open runs have reserved. The difference is available. Every entry says by how
 * much it changes each number, so a balance is the sum of its entries.
 *
 * Guarantees: pure, in integers. The key of an entry is unique within its account, so an entry that
 * is made twice counts once. Leaves out: storing entries; a store does that in one step with the
 * change that caused them.
 */
import { Schema } from "effect"
import { MicroCredits } from "./Credits.ts"
import { AccountId, RunId } from "./Id.ts"
import { Timestamp } from "./Timestamp.ts"

/** What a run does to its account. */
export const RunEntryKind = Schema.Literals(["reserve", "extend", "post", "void"])
export type RunEntryKind = typeof RunEntryKind.Type

/**
 * The kinds of entries that no run makes. `expire` takes the unused credits of a grant. `meter` and
 * `unmeter` change no credits; they turn metering on or off.
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
  /** The subject: a node and a commit, a commit, a grant, or an operation; else empty. */
  part: Schema.String,
  /** The person who did it; `null` if a run did. */
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

/** The node that an entry is about; `null` if it is about none. */
export const nodeOf = ({ kind, part }: Pick<Entry, "kind" | "part">): string | null =>
  kind === "post" ? part.slice(0, part.lastIndexOf("#")) : null

/** `post:run_1:node#3`, `void:run_1`, `grant:welcome`. */
export const keyOf = (kind: Entry["kind"], runId: RunId | null, part: string): string =>
  [kind, ...(runId === null ? [] : [runId]), ...(part === "" ? [] : [part])].join(":")

/** An entry of a run, as the ledger has it. */
export const entryOf = (accountId: AccountId, runId: RunId, entry: RunEntry): Entry => ({
  ...entry,
  key: keyOf(entry.kind, runId, entry.part),
  accountId,
  runId,
  actor: null,
  reason: null,
})

/** The credits of an account. */
export interface CreditAccount {
  readonly accountId: AccountId
  /** True: a start is refused if credits do not cover it. False: both numbers are only recorded. */
  readonly metered: boolean
  readonly posted: MicroCredits
  readonly reserved: MicroCredits
  /** When the first grant ends. From then on, the account is settled before any other change. */
  readonly dueAt: Timestamp | null
}

/** An account without entries. */
export const unopened = (accountId: AccountId): CreditAccount => ({
  accountId,
  metered: false,
  posted: 0,
  reserved: 0,
  dueAt: null,
})

/** What new runs can reserve. Negative if work has cost more than there was. */
export const availableOf = ({ posted, reserved }: CreditAccount): MicroCredits => posted - reserved

type Change = Pick<Entry, "kind" | "posted" | "reserved">

/** The available credits that these entries reserve. Only that amount must be covered. */
export const amountToReserve = (entries: ReadonlyArray<Change>): MicroCredits =>
  entries.reduce(
    (sum, { kind, reserved }) => (kind === "reserve" || kind === "extend" ? sum + reserved : sum),
    0,
  )

/** True if the account's available credits cover this amount, or the account is not metered. */
export const covers = (account: CreditAccount, demand: MicroCredits): boolean =>
  !account.metered || demand === 0 || demand <= availableOf(account)

/** The account after these entries. */
export const applied = (account: CreditAccount, entries: ReadonlyArray<Change>): CreditAccount => {
  let { metered, posted, reserved } = account
  for (const entry of entries) {
    posted += entry.posted
    reserved += entry.reserved
    if (entry.kind === "meter" || entry.kind === "unmeter") metered = entry.kind === "meter"
  }
  return { ...account, metered, posted, reserved }
}

/** A run, and its changes of the account. */
interface RunChanges {
  readonly run: { readonly id: RunId }
  readonly credits?: ReadonlyArray<Change> | undefined
}

/** What is not covered, and which run it is of, unless that is the run of the commit. */
interface Shortfall {
  readonly required: MicroCredits
  readonly available: MicroCredits
  readonly runId?: RunId
}

/**
 * What an account does not cover of a commit and the runs that it starts, which move their credits
 * one after the other; `undefined` if it covers all.
 */
export const missingCredits = (
  account: CreditAccount,
  { starts = [], ...own }: RunChanges & { readonly starts?: ReadonlyArray<RunChanges> | undefined },
): Shortfall | undefined => {
  let before = account
  for (const [index, { credits = [], run }] of [own, ...starts].entries()) {
    const [required, available] = [amountToReserve(credits), availableOf(before)]
    const named = index === 0 ? {} : { runId: run.id }
    if (!covers(before, required)) return { required, available, ...named }
    before = applied(before, credits)
  }
  return undefined
}

/** Reserves a run's estimate, with its start. Once per run. */
export const reserve = (amount: MicroCredits, at: Timestamp): RunEntry => ({
  kind: "reserve",
  part: "",
  posted: 0,
  reserved: amount,
  at,
})

/** Reserves more for a run. Once per commit; `revision` is the commit's. */
export const extend = (amount: MicroCredits, revision: number, at: Timestamp): RunEntry => ({
  kind: "extend",
  part: String(revision),
  posted: 0,
  reserved: amount,
  at,
})

/**
 * Posts the cost of a node. It comes out of what the run still has reserved (`held`); if that is
 * not enough, out of what is available, because work that was done is always paid for. Every
 * attempt of a node may cost something, so there is one such entry per node and commit.
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

/** Gives back what a run still has reserved, at its end. Once per run. */
export const voidRest = (held: MicroCredits, at: Timestamp): RunEntry => ({
  kind: "void",
  part: "",
  posted: 0,
  reserved: 0 - held,
  at,
})
