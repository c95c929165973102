/**
 * The operations of operators on credits, and the audit.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import type { StatementQuery } from "@millrace/api/AdminCreditsWire"
import { CreateAdjustment, CreateGrant, SetMetering } from "@millrace/api/AdminCreditsWire"
import { AccountId } from "@millrace/core/domain/Id"
import { csvHead, csvLineOf } from "@millrace/core/domain/StatementCsv"
import { Accounting } from "@millrace/core/engine/Accounting"
import { Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { reader } from "./Body.ts"
import { logStorage, refuse } from "../Errors.ts"
import { balanceOf } from "./UsageOperations.ts"

const readGrant = reader(CreateGrant)
const readAdjustment = reader(CreateAdjustment)
const readMetering = reader(SetMetering)

/** How many entries a statement has where nothing was asked for. */
const entriesPerPage = 100

interface OfAccount {
  readonly params: { readonly id: string }
}

interface WithBody extends OfAccount {
  readonly request: HttpServerRequest.HttpServerRequest
}

interface Asked extends OfAccount {
  readonly query: StatementQuery
}

const accountOf = ({ params }: OfAccount) => AccountId.make(params.id)

const makeOperations = Effect.map(Accounting, (accounting) => ({
  grant: Effect.fnUntraced(function* (call: WithBody) {
    const wanted = yield* readGrant(call.request)
    return yield* Effect.catch(accounting.grant(accountOf(call), wanted), refuse)
  }),
  adjust: Effect.fnUntraced(function* (call: WithBody) {
    const wanted = yield* readAdjustment(call.request)
    return yield* Effect.catch(accounting.adjust(accountOf(call), wanted), refuse)
  }),
  meter: Effect.fnUntraced(function* (call: WithBody) {
    const { metered, ...operation } = yield* readMetering(call.request)
    return yield* Effect.catch(accounting.meter(accountOf(call), operation, metered), refuse)
  }),
}))

const makeReads = Effect.map(Accounting, (accounting) => ({
  show: Effect.fnUntraced(function* (call: OfAccount) {
    const { account, grants } = yield* Effect.catch(accounting.find(accountOf(call)), refuse)
    return { balance: balanceOf(account), grants }
  }),
  statement: Effect.fnUntraced(function* (call: Asked) {
    const { before, limit = entriesPerPage } = call.query
    const query = { account: accountOf(call), before, limit }
    const items = yield* Effect.catch(accounting.statement(query), refuse)
    return { items, nextBefore: items.length < limit ? null : (items.at(-1)?.number ?? null) }
  }),
  csv: Effect.fnUntraced(function* (call: OfAccount) {
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
    const operations = yield* makeOperations
    return handlers
      .handle("show", reads.show)
      .handleRaw("grant", operations.grant)
      .handleRaw("adjust", operations.adjust)
      .handleRaw("meter", operations.meter)
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
