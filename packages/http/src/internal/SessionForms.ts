/**
 * Sessions on the wire.
 */
import type { Session as WireSession } from "@millrace/api/SessionWire"
import type { Session } from "@millrace/core/domain/Session"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { Effect, Option } from "effect"

/** What shows sessions, with the names of their accounts. */
export const makeShown = Effect.map(KeyStore, (store) =>
  Effect.fnUntraced(function* (session: Session) {
    const { accountId, createdAt, expiresAt, id, lastUsedAt, role, workflows } = session
    const found = accountId === null ? Option.none() : yield* store.findAccount(accountId)
    const account = Option.isSome(found) ? { id: found.value.id, name: found.value.name } : null
    return { id, account, role, workflows, createdAt, expiresAt, lastUsedAt } satisfies WireSession
  }),
)
