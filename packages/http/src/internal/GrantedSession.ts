/**
 * Sessions that the sign-in of an application grants: made for one request, and never stored.
 *
 * Guarantees: the application is asked with every request, and again while a stream goes on. Leaves
 * out: protection against other sites, which is the same as for cookies.
 */
import { SessionId } from "@millrace/core/domain/Id"
import { grantedMillis, grantLookMillis } from "@millrace/core/domain/Limits"
import type { Session } from "@millrace/core/domain/Session"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { Effect, Equal } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { AskForGrant, Granted } from "../ConsoleSettings.ts"
import { headOf } from "./Authenticator.ts"
import { hashOf } from "./RequestOrigin.ts"

/** How the ids of such sessions begin. */
const prefix = "app_"

/** The same for all requests of one person; no stored session has it. */
const idOf = (granted: Granted): SessionId => {
  const text = JSON.stringify([granted.accountId, granted.role, granted.workflows, granted.user])
  return SessionId.make(`${prefix}${hashOf(text)}${hashOf(`${text} again`)}`)
}

const sessionOf = (granted: Granted, now: Timestamp): Session => ({
  id: idOf(granted),
  accountId: granted.accountId,
  role: granted.role,
  workflows: granted.workflows,
  createdAt: now,
  // What it makes lives as long at most: nobody knows how long the application will grant it.
  expiresAt: now + grantedMillis,
  idleMillis: null,
  lastUsedAt: now,
})

/** A session, and what waits until the application does not grant it any more. */
export interface GrantedSession {
  readonly session: Session
  readonly name: string | undefined
  readonly over: Effect.Effect<void>
}

/** Asks the application about a request. */
export const ask = Effect.fnUntraced(function* (
  grant: AskForGrant,
  request: HttpServerRequest.HttpServerRequest,
  now: Timestamp,
) {
  const granted = yield* grant(headOf(request))
  if (granted === null) return undefined
  const isOver = Effect.map(
    Effect.orElseSucceed(grant(headOf(request)), () => granted),
    (next) => !Equal.equals(next, granted),
  )
  const over = Effect.gen(function* () {
    do yield* Effect.sleep(grantLookMillis)
    while (!(yield* isOver))
  })
  return { session: sessionOf(granted, now), name: granted.name, over } satisfies GrantedSession
})
