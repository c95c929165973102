/**
 * The operations that only the console has: signing in and out, and the keys, secrets and sessions
 * of the account of the session.
 */
import { SessionId } from "@millrace/core/domain/Id"
import type { CreatedSession } from "@millrace/core/engine/Sessions"
import { Sessions } from "@millrace/core/engine/Sessions"
import { Clock, Effect, Redacted } from "effect"
import * as AdminAuthorization from "../AdminAuthorization.ts"
import { CurrentConsole } from "../ConsoleSettings.ts"
import { InvalidRequest, TokenRefused, TooManyBadTokens } from "../Errors.ts"
import { makeFind } from "./ConsoleAuthenticator.ts"
import { FailedAuthLimiter } from "./FailedAuthLimiter.ts"
import type { ConsoleCall, ConsoleOperationsOf, OperationRequest } from "./Operation.ts"
import { Operations } from "./Operations.ts"
import * as RequestOrigin from "./RequestOrigin.ts"
import { makeShown, makeShownTicket } from "./SessionForms.ts"

/** The account of a call that was admitted. */
const ownerOf = ({ account }: ConsoleCall) => account!

/** Checks what a browser signs in with, and begins its session. */
const makeBegin = Effect.gen(function* () {
  const sessions = yield* Sessions
  const badTokens = yield* FailedAuthLimiter
  const token = yield* AdminAuthorization.AdminToken
  const isOperator = token === undefined ? undefined : yield* AdminAuthorization.makeIsRight(token)

  /** Counts an attempt that failed. */
  const failed = Effect.fnUntraced(function* ({ request }: OperationRequest) {
    const retryAfterSeconds = yield* badTokens.count(request)
    if (retryAfterSeconds !== undefined) return yield* new TooManyBadTokens({ retryAfterSeconds })
  })

  return {
    redeem: (arrived: OperationRequest, ticket: string) =>
      Effect.catchTag(sessions.redeem(Redacted.make(ticket)), "TicketRefused", (refused) =>
        Effect.andThen(failed(arrived), Effect.fail(refused)),
      ),
    operator: Effect.fnUntraced(function* (arrived: OperationRequest, given: string) {
      if (isOperator !== undefined && (yield* isOperator(given))) {
        return yield* sessions.createOperator
      }
      yield* failed(arrived)
      return yield* new TokenRefused()
    }),
  }
})

const makeSignIn = Effect.gen(function* () {
  const sessions = yield* Sessions
  const { cookieOf, isLocal, isSecure, setCookie } = yield* RequestOrigin.make
  const clock = yield* Clock.Clock
  const begin = yield* makeBegin
  const shown = yield* makeShown
  const { grant } = yield* CurrentConsole

  /** Ends the session that the browser had before. */
  const endPrevious = Effect.fnUntraced(function* ({ request }: OperationRequest) {
    const previous = cookieOf(request)
    if (previous === "") return
    const found = yield* sessions.admit(Redacted.make(previous))
    if (found._tag !== "Admitted") return
    const { accountId, id } = found.session
    yield* Effect.ignore(sessions.revoke(accountId, id))
  })

  const answer = Effect.fnUntraced(function* (
    { request }: OperationRequest,
    { session, token }: CreatedSession,
  ) {
    const millis = session.expiresAt - clock.currentTimeMillisUnsafe()
    const seconds = Math.max(1, Math.floor(millis / 1_000))
    const cookie = setCookie(request, Redacted.value(token), seconds)
    return { value: yield* shown(session), cookie }
  })

  return Effect.fnUntraced(function* (
    arrived: OperationRequest,
    { operatorToken, ticket }: { readonly operatorToken?: string; readonly ticket?: string },
  ) {
    const { request } = arrived
    if (grant !== undefined) {
      const message = "The application signs people in here: links and tokens do not"
      return yield* new InvalidRequest({ message })
    }
    if ((ticket === undefined) === (operatorToken === undefined)) {
      return yield* new InvalidRequest({ message: "body: expected ticket or operatorToken" })
    }
    if (!isSecure(request) && !isLocal(request)) {
      const message = "Signing in needs https, except on this machine: open the address with https"
      return yield* new InvalidRequest({ message })
    }
    const begun =
      ticket === undefined
        ? yield* begin.operator(arrived, operatorToken ?? "")
        : yield* begin.redeem(arrived, ticket)
    yield* endPrevious(arrived)
    return yield* answer(arrived, begun)
  })
})

const makeSession = Effect.gen(function* () {
  const sessions = yield* Sessions
  const { setCookie } = yield* RequestOrigin.make
  const shown = yield* makeShown
  const signIn = yield* makeSignIn
  const find = yield* makeFind
  const { grant } = yield* CurrentConsole
  const by = grant === undefined ? ("link" as const) : ("application" as const)
  const operations: ConsoleOperationsOf<"session"> = {
    get: ({ session }) => Effect.map(shown(session!), (value) => ({ value })),
    signOut: Effect.fnUntraced(function* ({ arrived: { request }, session }) {
      const { accountId, id } = session!
      yield* Effect.catchTag(sessions.revoke(accountId, id), "SessionNotFound", () => Effect.void)
      return { value: undefined, cookie: setCookie(request, "", 0) }
    }),
    // A page asks before anybody has signed in, and browsers show an answer of 401 as an error.
    find: Effect.fnUntraced(function* ({ arrived }) {
      const found = yield* Effect.catchTag(
        find(arrived.request),
        ["SessionRefused", "CrossSite", "NotJson"],
        () => Effect.undefined,
      )
      return { value: { session: found === undefined ? null : yield* shown(found.session), by } }
    }),
    signIn: ({ arrived, payload }) => signIn(arrived, payload),
  }
  return operations
})

const makeSessions = Effect.gen(function* () {
  const sessions = yield* Sessions
  const shown = yield* makeShown
  const shownTicket = yield* makeShownTicket
  const operations: ConsoleOperationsOf<"sessions"> = {
    list: Effect.fnUntraced(function* (call) {
      const found = yield* sessions.list(ownerOf(call))
      return { value: { items: yield* Effect.forEach(found, shown) } }
    }),
    create: Effect.fnUntraced(function* (call) {
      const { expiresInSeconds, kind, role, workflows } = call.payload
      const expiresInMillis = expiresInSeconds === undefined ? undefined : expiresInSeconds * 1_000
      const wanted = { role, workflows, expiresInMillis }
      if (kind === "token") {
        const { session, token } = yield* sessions.create(ownerOf(call), wanted, call.session)
        return { value: { session: yield* shown(session), token: Redacted.value(token) } }
      }
      const { session, ticket } = yield* sessions.link(ownerOf(call), wanted, call.session)
      return { value: { session: yield* shown(session), ...shownTicket(ticket) } }
    }),
    revoke: (call) =>
      Effect.map(sessions.revoke(ownerOf(call), SessionId.make(call.params.id)), (value) => ({
        value,
      })),
  }
  return operations
})

/** A call of an operator's operation on the account of the session. */
const inAccount = (call: ConsoleCall) => ({ params: { id: ownerOf(call) } })

/** The operations, by group and name. */
export const make = Effect.gen(function* () {
  const { admin } = yield* Operations
  const keys: ConsoleOperationsOf<"keys"> = {
    list: (call) => admin.keys.list({ ...call, ...inAccount(call) }),
    create: (call) => admin.keys.create({ ...call, ...inAccount(call) }),
    update: (call) =>
      admin.keys.update({ ...call, params: { id: ownerOf(call), keyId: call.params.id } }),
    revoke: (call) =>
      admin.keys.revoke({ ...call, params: { id: ownerOf(call), keyId: call.params.id } }),
  }
  const secrets: ConsoleOperationsOf<"secrets"> = {
    list: (call) => admin.secrets.list({ ...call, ...inAccount(call) }),
    put: (call) =>
      admin.secrets.set({ ...call, params: { id: ownerOf(call), name: call.params.name } }),
    remove: (call) =>
      admin.secrets.remove({ ...call, params: { id: ownerOf(call), name: call.params.name } }),
  }
  const testEvents: ConsoleOperationsOf<"testEvents"> = {
    send: (call) => admin.webhooks.test({ ...call, ...inAccount(call) }),
  }
  const [session, sessions] = [yield* makeSession, yield* makeSessions]
  return { session, sessions, keys, secrets, testEvents }
})
