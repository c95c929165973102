/**
 * The credits of an engine's account: grants, corrections, metering, and the ledger.
 *
 * Guarantees: an operation with an `id` is done once, however often it is called with that id. The
 * ledger keeps actor and reason. Leaves out: what runs reserve and post; the engine does that.
 */
import * as Wire from "@millrace/api/AdminCreditsWire"
import type { AccountId } from "@millrace/core/domain/Id"
import { availableOf } from "@millrace/core/domain/Ledger"
import { entriesPerPage, entriesPerStatement } from "@millrace/core/domain/Limits"
import { Accounting as Core } from "@millrace/core/engine/Accounting"
import { Effect, Schema } from "effect"
import { reader, writer } from "./internal/JsonCopy.ts"
import type { Runtime } from "./internal/Runtime.ts"

/** The balance of an account, and its grants that have credits left. */
export type AccountCredits = typeof Wire.AccountCredits.Encoded

/** Credits that an account was given. */
export type Grant = typeof Wire.Grant.Encoded

/** One line of the ledger. */
export type Entry = typeof Wire.Entry.Encoded

/** Who changes the credits, and why. */
export interface AdminOperation {
  /** An id of your choice. Repeating the operation with the same id changes nothing. */
  readonly id?: string
  /** Who does it: a person or a part of your product. The ledger keeps it. */
  readonly actor: string
  /** Why, for whoever reads the ledger. */
  readonly reason: string
}

/** Credits to give. */
export interface NewGrant extends AdminOperation {
  /** More than 0, with at most six decimals. */
  readonly amount: number
  /** Grants with a lower number are used first; 0 by default. */
  readonly priority?: number
  /** When the grant's unused credits expire. */
  readonly expiresAt?: Date | string
}

/** Which entries to read: the newest, or those before the entry with the number `before`. */
export interface StatementQuery {
  /** The number of an entry; only older ones are read. */
  readonly before?: number
  /** 1 to 1,000; 100 by default. */
  readonly limit?: number
}

/** The credits of the engine's account. */
export interface Credits {
  /** The balance, and the grants that have credits left. */
  get(): Promise<AccountCredits>
  /** Gives credits. Rejects with `INVALID_REQUEST` if the amount is not valid. */
  grant(grant: NewGrant): Promise<Grant>
  /** Corrects the balance, up or down. */
  adjust(adjustment: AdminOperation & { readonly amount: number }): Promise<Entry>
  /** Turns metering on or off. A metered account's start is refused if credits do not cover it. */
  meter(metering: AdminOperation & { readonly metered: boolean }): Promise<Entry>
  /** The ledger, newest first. */
  statement(query?: StatementQuery): Promise<ReadonlyArray<Entry>>
}

const readGrant = reader(Wire.CreateGrant, "grant")
const readAdjustment = reader(Wire.CreateAdjustment, "adjustment")
const readMetering = reader(Wire.SetMetering, "metering")
const between = (maximum: number) =>
  Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum })))
const readQuery = reader(
  Schema.Struct({ before: between(Number.MAX_SAFE_INTEGER), limit: between(entriesPerStatement) }),
  "query",
)
const writeCredits = writer(Wire.AccountCredits)
const writeGrant = writer(Wire.Grant)
const writeEntry = writer(Wire.Entry)

/** The credits of one account. */
export const make = ({ call }: Runtime<Core>, account: AccountId): Credits => ({
  get: Effect.fnUntraced(function* () {
    const { account: found, grants } = yield* Core.use((accounting) => accounting.find(account))
    const { metered, posted, reserved } = found
    const balance = { metered, posted, reserved, available: availableOf(found) }
    return writeCredits({ balance, grants })
  }, call),
  grant: Effect.fnUntraced(function* (given: NewGrant) {
    const wanted = yield* readGrant(given)
    return writeGrant(yield* Core.use((accounting) => accounting.grant(account, wanted)))
  }, call),
  adjust: Effect.fnUntraced(function* (given: AdminOperation & { readonly amount: number }) {
    const wanted = yield* readAdjustment(given)
    return writeEntry(yield* Core.use((accounting) => accounting.adjust(account, wanted)))
  }, call),
  meter: Effect.fnUntraced(function* (given: AdminOperation & { readonly metered: boolean }) {
    const { metered, ...operation } = yield* readMetering(given)
    return writeEntry(
      yield* Core.use((accounting) => accounting.meter(account, operation, metered)),
    )
  }, call),
  statement: Effect.fnUntraced(function* (given: StatementQuery = {}) {
    const { before, limit = entriesPerPage } = yield* readQuery(given)
    const query = { account, before, limit }
    return (yield* Core.use((accounting) => accounting.statement(query))).map(writeEntry)
  }, call),
})
