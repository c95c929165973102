/**
 * The tables of the ledger as data; see `Rows`.
 */
import type { Grant } from "@millrace/core/domain/Grant"
import type { CreditAccount, Entry, NumberedEntry } from "@millrace/core/domain/Ledger"
import { amountToReserve, keyOf } from "@millrace/core/domain/Ledger"
import type { RunId } from "@millrace/core/domain/Id"
import type { RunFacts } from "@millrace/core/domain/LedgerCheck"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Rows from "./Rows.ts"

export const accounts: Rows.Table<CreditAccount> = [
  ...Rows.texts<CreditAccount>("accountId"),
  ...Rows.columns("bool")<CreditAccount>("metered"),
  ...Rows.int8s<CreditAccount>("posted", "reserved", "dueAt"),
]

export const grants: Rows.Table<Grant> = [
  ...Rows.texts<Grant>("accountId", "id", "actor", "reason"),
  ...Rows.int8s<Grant>("amount", "remaining", "expiresAt", "at"),
  ...Rows.int4s<Grant>("priority"),
]

/** The columns of an entry. Its account and its run are stored as numbers. */
export const entries: Rows.Table<Entry> = [
  ...Rows.int8s<Entry>("posted", "reserved", "at"),
  ...Rows.texts<Entry>("kind", "part", "actor", "reason"),
]

/** A stored entry. Its key is computed. */
export interface StoredEntry extends Omit<NumberedEntry, "key" | "accountId" | "runId"> {
  readonly number: number
}

/** The entry of an account and, if it has one, of a run. */
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
  ...Rows.texts<RunFacts>("id", "status"),
  ...Rows.int8s<RunFacts>("estimatedCredits", "actualCredits", "startAt"),
]

/** A commit that moves credits, and its place among the commits of the statement. */
export interface CreditCommit {
  readonly commit: RunCommit
  readonly place: number
}

/** The run of each commit, the credits that it needs, and the state in which the run must be. */
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

/** An entry of a commit, and its place among the entries of the statement. */
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
