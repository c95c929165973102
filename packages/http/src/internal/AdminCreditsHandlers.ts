/**
 * The operations of operators on credits, and the audit.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import type { StatementQuery } from "@millrace/api/AdminCreditsWire"
import { CreateAdjustment, CreateGrant, SetMetering } from "@millrace/api/AdminCreditsWire"
import { entriesPerPage } from "@millrace/core/domain/Limits"
import { csvHead, csvLineOf } from "@millrace/core/domain/StatementCsv"
import { Accounting } from "@millrace/core/engine/Accounting"
import { Effect, Stream } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { ById } from "./AdminCall.ts"
import { accountOf, withBody } from "./AdminCall.ts"
import { logStorage, refuse } from "../Errors.ts"
import { balanceOf } from "./UsageOperations.ts"

interface Asked extends ById {
  readonly query: StatementQuery
}

const makeReads = Effect.map(Accounting, (accounting) => ({
  show: Effect.fnUntraced(function* (call: ById) {
    const { account, grants } = yield* Effect.catch(accounting.find(accountOf(call)), refuse)
    return { balance: balanceOf(account), grants }
  }),
  statement: Effect.fnUntraced(function* (call: Asked) {
    const { before, limit = entriesPerPage } = call.query
    const query = { account: accountOf(call), before, limit }
    const items = yield* Effect.catch(accounting.statement(query), refuse)
    return { items, nextBefore: items.length < limit ? null : (items.at(-1)?.number ?? null) }
  }),
  csv: Effect.fnUntraced(function* (call: ById) {
    const account = accountOf(call)
    yield* Effect.catch(accounting.find(account), refuse)
    const lines = Stream.map(accounting.entries(account), csvLineOf)
    return Stream.concat(Stream.succeed(csvHead), lines).pipe(
      Stream.encodeText,
      // The answer has begun: all that can be done is to break it off.
      Stream.tapError(logStorage),
      Stream.orDie,
    )
  }),
}))

/** The handlers of the group `credits`. */
export const layerCredits = HttpApiBuilder.group(
  AdminApi,
  "credits",
  Effect.fnUntraced(function* (handlers) {
    const reads = yield* makeReads
    const accounting = yield* Accounting
    return handlers
      .handle("show", reads.show)
      .handleRaw(
        "grant",
        withBody(CreateGrant, (wanted, call: ById) => accounting.grant(accountOf(call), wanted)),
      )
      .handleRaw(
        "adjust",
        withBody(CreateAdjustment, (wanted, call: ById) =>
          accounting.adjust(accountOf(call), wanted),
        ),
      )
      .handleRaw(
        "meter",
        withBody(SetMetering, ({ metered, ...operation }, call: ById) =>
          accounting.meter(accountOf(call), operation, metered),
        ),
      )
      .handle("statement", reads.statement)
      .handle("csv", reads.csv)
  }),
)

/** The handlers of the group `audit`. */
export const layerAudit = HttpApiBuilder.group(
  AdminApi,
  "audit",
  Effect.fnUntraced(function* (handlers) {
    const accounting = yield* Accounting
    return handlers.handle("audit", () => Effect.catch(accounting.audit, refuse))
  }),
)
