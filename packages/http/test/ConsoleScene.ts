/**
 * The console in a test: its interface with an operator token, and people who sign in.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { NewSession } from "@millrace/core/engine/Sessions"
import { Sessions } from "@millrace/core/engine/Sessions"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { Effect, Layer, Redacted } from "effect"
import { Harness, services } from "./Harness.ts"

export const root = "/api/console/v1"
export const operatorToken = "an-admin-token-of-the-tests"

/** The token of a new session. */
export const tokenOf = (account: AccountId, wanted: NewSession) =>
  Effect.map(
    Effect.flatMap(Sessions, (sessions) => sessions.create(account, wanted)),
    ({ session, token }) => ({ key: Redacted.value(token), id: session.id }),
  )

export const ticketOf = (account: AccountId, wanted: NewSession = { role: "owner" }) =>
  Effect.map(
    Effect.flatMap(Sessions, (sessions) => sessions.link(account, wanted)),
    ({ ticket }) => Redacted.value(ticket),
  )

/** What a page of ours sends with a change. */
export const ours = { "sec-fetch-site": "same-origin", origin: "http://localhost" }

/** The cookie that an answer sets, as a browser sends it back. */
export const cookieOf = ({ headers }: { readonly headers: Headers }) =>
  headers.get("set-cookie")?.split(";")[0] ?? ""

export const signIn = Effect.fnUntraced(function* (
  json: object,
  headers: Record<string, string> = ours,
) {
  const { send } = yield* Harness
  return yield* send("POST", `${root}/sign-in`, { json, headers })
})

export const over = Harness.layerNoDeps.pipe(
  Layer.provideMerge(services),
  Layer.provide(Layer.succeed(AdminToken, Redacted.make(operatorToken))),
)
