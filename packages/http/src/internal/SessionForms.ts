/**
 * Sessions and sign-in links on the wire.
 */
import type { Session as WireSession } from "@millrace/api/SessionWire"
import type { Session } from "@millrace/core/domain/Session"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { Effect, Option, Redacted } from "effect"
import { BasePath } from "../Addresses.ts"
import { CurrentConsole, signInAddress } from "../ConsoleSettings.ts"

/** What shows sessions, with the names of their accounts. */
export const makeShown = Effect.map(KeyStore, (store) =>
  Effect.fnUntraced(function* (session: Session) {
    const { accountId, createdAt, expiresAt, id, lastUsedAt, role, workflows } = session
    const found = accountId === null ? Option.none() : yield* store.findAccount(accountId)
    const account = Option.isSome(found) ? { id: found.value.id, name: found.value.name } : null
    return { id, account, role, workflows, createdAt, expiresAt, lastUsedAt } satisfies WireSession
  }),
)

/** What shows a new ticket, with the address at which it signs in where that is known. */
export const makeShownTicket = Effect.gen(function* () {
  const { publicOrigin } = yield* CurrentConsole
  const basePath = yield* BasePath
  return (secret: Redacted.Redacted) => {
    const ticket = Redacted.value(secret)
    if (publicOrigin === undefined) return { ticket }
    return { ticket, address: publicOrigin + basePath + signInAddress(ticket) }
  }
})
