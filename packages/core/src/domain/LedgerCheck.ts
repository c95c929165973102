/**
 * The audit of one account: reads its ledger from the first entry to the last, and has a sentence
 * for everything that does not add up. These must be true:
 *
 * - The balance is the sum of the entries.
 * - A metered account had the credits that each reservation took.
 * - A run reserves its estimate once, has exactly one `void` when it has ended, and then has
 *   nothing reserved. Its credits are the sum of its posts. A run that is to start later has no
 *   entry before.
 * - The rest of all grants is the rest of the account.
 *
 * Guarantees: pure; memory for the open runs only. Leaves out: reading the ledger, and repairs.
 */
import { toNumber } from "./Credits.ts"
import type { Grant } from "./Grant.ts"
import { settle } from "./Grant.ts"
import type { AccountId } from "./Id.ts"
import type { CreditAccount, NumberedEntry } from "./Ledger.ts"
import { applied, availableOf, unopened } from "./Ledger.ts"
import { discrepanciesTold } from "./Limits.ts"
import type { Run } from "./Run.ts"
import { isTerminal } from "./Run.ts"

/** The fields of a run that an audit reads. */
export type RunFacts = Pick<Run, "id" | "status" | "estimatedCredits" | "actualCredits" | "startAt">

/**
 * One line that an audit reads: an entry with its run (`null` if it has none), or a run that has
 * credits but no entry.
 */
export interface AuditLine {
  readonly entry: NumberedEntry | null
  readonly run: RunFacts | null
}

/** Everything about one account, as it was at one moment; lines in the order of the ledger. */
export interface AuditHead {
  readonly account: CreditAccount
  /** The grants that have credits left. */
  readonly grants: ReadonlyArray<Grant>
}

/** Something that does not add up. */
export interface Discrepancy {
  readonly accountId: AccountId
  readonly message: string
}

/** The sums of one run's entries so far. */
interface Sums {
  run: RunFacts
  reserves: number
  voids: number
  estimate: number
  reserved: number
  posted: number
}

const none = (run: RunFacts): Sums => ({
  run,
  reserves: 0,
  voids: 0,
  estimate: 0,
  reserved: 0,
  posted: 0,
})

/** The problems of a run, once all its entries were read. */
const problemsOf = (sums: Sums): ReadonlyArray<string> => {
  const { actualCredits, estimatedCredits, id, startAt, status } = sums.run
  const isUnreserved = sums.reserves + sums.voids === 0 && sums.reserved === 0
  if (startAt !== null && isUnreserved && actualCredits === 0 && sums.posted === 0) return []
  const problems: Array<string> = []
  const say = (text: string) => problems.push(`Run ${id} ${text}`)
  if (sums.reserves > 1) say(`was reserved for ${sums.reserves} times`)
  if (sums.estimate !== estimatedCredits) {
    say(`is estimated at ${toNumber(estimatedCredits)}, and reserved ${toNumber(sums.estimate)}`)
  }
  if (0 - sums.posted !== actualCredits) {
    say(`has cost ${toNumber(actualCredits)}, and ${toNumber(0 - sums.posted)} were posted for it`)
  }
  if (sums.reserved < 0) say(`has given back ${toNumber(0 - sums.reserved)} more than it had`)
  if (!isTerminal(status)) {
    if (sums.voids > 0) say(`is ${status}, and its reservation was voided`)
    return problems
  }
  if (sums.reserved > 0) say(`has ended, and ${toNumber(sums.reserved)} are reserved for it`)
  if (sums.voids !== 1) say(`has ended, and was settled ${sums.voids} times`)
  return problems
}

/** Reads the ledger of one account, line by line. Mutable, for one reader. */
export class LedgerCheck {
  readonly #head: AuditHead
  readonly #runs = new Map<string, Sums>()
  readonly #found: Array<Discrepancy> = []
  #reached: CreditAccount

  constructor(head: AuditHead) {
    this.#head = head
    this.#reached = unopened(head.account.accountId)
  }

  /** Takes the next line. */
  read({ entry, run }: AuditLine): void {
    if (entry === null) {
      if (run !== null) this.#judge(none(run))
      return
    }
    this.#reached = applied(this.#reached, [entry])
    const { kind, runId } = entry
    const isTaken = kind === "reserve" || kind === "extend"
    const left = availableOf(this.#reached)
    if (isTaken && entry.reserved > 0 && this.#reached.metered && left < 0) {
      this.#say(`Entry ${entry.key} reserved ${toNumber(0 - left)} more than was available`)
    }
    if (runId === null) return
    if (run === null) return this.#say(`Entry ${entry.key} is of a run that does not exist`)
    this.#add(entry, run)
  }

  /** What does not add up. Call it after the last line. */
  end(): ReadonlyArray<Discrepancy> {
    for (const sums of this.#runs.values()) this.#judge(sums)
    const { account, grants } = this.#head
    for (const name of ["posted", "reserved"] as const) {
      const [stated, summed] = [account[name], this.#reached[name]]
      if (stated !== summed) {
        this.#say(`${name} is ${toNumber(stated)}, and its entries add up to ${toNumber(summed)}`)
      }
    }
    if (account.metered !== this.#reached.metered) {
      this.#say(`The account ${account.metered ? "is" : "is not"} metered, against its entries`)
    }
    // No grant has ended at this time, so settling only works out what was used.
    const left = settle({ account, grants }, Number.NEGATIVE_INFINITY).grants.reduce(
      (sum, { remaining }) => sum + remaining,
      0,
    )
    const expected = Math.max(0, account.posted)
    if (left !== expected) {
      this.#say(
        `${toNumber(left)} are left of its grants, and ${toNumber(expected)} on the account`,
      )
    }
    return this.#found
  }

  #add({ kind, posted, reserved }: NumberedEntry, run: RunFacts): void {
    const sums = this.#runs.get(run.id) ?? none(run)
    sums.run = run
    sums.posted += posted
    sums.reserved += reserved
    if (kind === "reserve") sums.estimate += reserved
    if (kind === "reserve") sums.reserves += 1
    if (kind === "void") sums.voids += 1
    this.#runs.set(run.id, sums)
    if (kind !== "void" || !isTerminal(run.status)) return
    this.#runs.delete(run.id)
    this.#judge(sums)
  }

  #judge(sums: Sums): void {
    for (const problem of problemsOf(sums)) this.#say(problem)
  }

  #say(message: string): void {
    if (this.#found.length >= discrepanciesTold) return
    this.#found.push({ accountId: this.#head.account.accountId, message })
  }
}
