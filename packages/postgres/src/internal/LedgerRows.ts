/**
 * The tables of the ledger as data: what `Rows` is for the rest.
 *
 * Leaves out: any query.
 */
import type { Grant } from "@millrace/core/domain/Grant"
import type { CreditAccount, Entry, NumberedEntry } from "@millrace/core/domain/Ledger"
import { amountToReserve, keyOf } from "@millrace/core/domain/Ledger"
import type { RunId } from "@millrace/core/domain/Id"
import type { RunFacts } from "@millrace/core/domain/LedgerCheck"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Rows from "./Rows.ts"

const bools = Rows.columns("bool")
const int4s = Rows.columns("int4")
const int8s = Rows.columns("int8")
const texts = Rows.columns("text")

export const accounts: Rows.Table<CreditAccount> = [
  ...texts<CreditAccount>({ accountId: "account_id" }),
  ...bools<CreditAccount>({ metered: "metered" }),
  ...int8s<CreditAccount>({ posted: "posted", reserved: "reserved", dueAt: "due_at" }),
]

export const grants: Rows.Table<Grant> = [
  ...texts<Grant>({ accountId: "account_id", id: "id", actor: "actor", reason: "reason" }),
  ...int8s<Grant>({
    amount: "amount",
    remaining: "remaining",
    expiresAt: "expires_at",
    at: "at",
  }),
  ...int4s<Grant>({ priority: "priority" }),
]

/** What of an entry is a column of its own; whose it is stands in numbers beside it. */
export const entries: Rows.Table<Entry> = [
  ...int8s<Entry>({ posted: "posted", reserved: "reserved", at: "at" }),
  ...texts<Entry>({ kind: "kind", part: "part", actor: "actor", reason: "reason" }),
]

/** An entry as it is read: its key follows from the rest. */
export interface StoredEntry extends Omit<NumberedEntry, "key" | "accountId" | "runId"> {
  readonly number: number
}

/** The entry of an account and, where it has one, of a run. */
export const entryOf = (
  stored: StoredEntry,
  accountId: Entry["accountId"],
  runId: RunId | null,
): NumberedEntry => ({
  ...stored,
  key: keyOf(stored.kind, runId, stored.part),
  accountId,
  runId,
})

export const facts: Rows.Table<RunFacts> = [
  ...texts<RunFacts>({ id: "id", status: "status" }),
  ...int8s<RunFacts>({ estimatedCredits: "estimated_credits", actualCredits: "actual_credits" }),
]

/** A commit that moves credits, at its place among those that came together. */
export interface CreditCommit {
  readonly commit: RunCommit
  readonly place: number
}

/** Who moves credits, how much has to be available for it, and what the run has to be like. */
export const creditCommits: Rows.Table<CreditCommit> = [
  Rows.derived("run_id", "text", ({ commit }) => commit.run.id),
  Rows.derived("account_id", "text", ({ commit }) => commit.run.accountId),
  Rows.derived("amount", "int8", ({ commit }) => amountToReserve(commit.credits ?? [])),
  Rows.derived("place", "int4", ({ place }) => place),
  Rows.derived("expected_fence", "int4", ({ commit: { expected } }) =>
    expected._tag === "New" ? null : expected.fence,
  ),
  Rows.derived("expected_revision", "int4", ({ commit: { expected } }) =>
    expected._tag === "New" ? null : expected.revision,
  ),
]

/** An entry that a commit appends, at its place among those of all commits. */
export interface Move {
  readonly commit: RunCommit
  readonly entry: NonNullable<RunCommit["credits"]>[number]
  readonly place: number
}

export const moves: Rows.Table<Move> = [
  Rows.derived("run_id", "text", ({ commit }) => commit.run.id),
  Rows.derived("account_id", "text", ({ commit }) => commit.run.accountId),
  Rows.derived("kind", "text", ({ entry }) => entry.kind),
  Rows.derived("part", "text", ({ entry }) => entry.part),
  Rows.derived("posted", "int8", ({ entry }) => entry.posted),
  Rows.derived("reserved", "int8", ({ entry }) => entry.reserved),
  Rows.derived("at", "int8", ({ entry }) => entry.at),
  Rows.derived("place", "int4", ({ place }) => place),
]
