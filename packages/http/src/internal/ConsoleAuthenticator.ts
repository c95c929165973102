/**
 * Admits requests of the console: by the session in the cookie or in the bearer token, in the role
 * that the operation needs.
 *
 * Guarantees: session and role are read from the store with every request. A page of another site
 * changes nothing with the cookie. An operator acts in the account that the request names; nobody
 * else can name another one than the session's. Leaves out: which things of an account a session
 * sees; see `SessionReach`.
 */
import { AccountId } from "@millrace/core/domain/Id"
import type { Session } from "@millrace/core/domain/Session"
import { isAtLeast, tokenPrefix } from "@millrace/core/domain/Session"
import { Sessions } from "@millrace/core/engine/Sessions"
import { AccountNotFound, KeyStore } from "@millrace/core/ports/KeyStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Clock, Effect, Option, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { isLoopback } from "../Addresses.ts"
import type { AskForGrant } from "../ConsoleSettings.ts"
import { CurrentConsole } from "../ConsoleSettings.ts"
import type { Refusal } from "../Errors.ts"
import {
  CrossSite,
  InvalidRequest,
  NotJson,
  NotPermitted,
  SessionLimited,
  SessionRefused,
  TooManyBadTokens,
  WrongHost,
} from "../Errors.ts"
import { tokenOf } from "./Authenticator.ts"
import { ruleOf, withoutAccount } from "./ConsoleRules.ts"
import { FailedAuthLimiter } from "./FailedAuthLimiter.ts"
import * as GrantedSession from "./GrantedSession.ts"
import type { Caller, OperationRequest } from "./Operation.ts"
import * as RequestOrigin from "./RequestOrigin.ts"
import { hostOf } from "./RequestOrigin.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Why a request has no session. */
type FindRefusal =
  | SessionRefused
  | SessionLimited
  | TooManyBadTokens
  | CrossSite
  | NotJson
  | StorageError

const isRead = ({ method }: Request): boolean => method === "GET" || method === "HEAD"

/** True for a body that is not announced as JSON: a form can send one from any site. */
const isForm = ({ headers }: Request): boolean => {
  const type = headers["content-type"]
  if (type !== undefined) return !/^\s*application\/json\s*(?:;|$)/i.test(type)
  return Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined
}

/** Makes what refuses what another site may have made a browser send. */
const makeCheckSite = Effect.map(RequestOrigin.make, ({ isCrossSite, isSameOrigin }) =>
  Effect.fnUntraced(function* (request: Request, byCookie: boolean) {
    if (isRead(request)) return
    if (byCookie ? !isSameOrigin(request) : isCrossSite(request)) return yield* new CrossSite()
    if (byCookie && isForm(request)) return yield* new NotJson()
  }),
)

/** A session; its name, and what waits for its end, if nobody but the application knows that. */
interface Found {
  readonly session: Session
  readonly name?: string | undefined
  readonly over?: Effect.Effect<void>
}

/** A request, and what is known of its caller. */
type Arrived = Partial<Caller> & { readonly arrived: OperationRequest }

/** Finds who the application says has sent a request. */
const makeFindGranted = (grant: AskForGrant) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const checkSite = yield* makeCheckSite
    return Effect.fnUntraced(function* (request: Request) {
      yield* checkSite(request, true)
      const found = yield* GrantedSession.ask(grant, request, clock.currentTimeMillisUnsafe())
      return found ?? (yield* new SessionRefused())
    })
  })

/** Finds the live session of a request, and counts the request. */
export const makeFind = Effect.gen(function* () {
  const { grant } = yield* CurrentConsole
  const findGranted = grant === undefined ? undefined : yield* makeFindGranted(grant)
  const sessions = yield* Sessions
  const badTokens = yield* FailedAuthLimiter
  const { cookieOf } = yield* RequestOrigin.make
  const checkSite = yield* makeCheckSite
  return Effect.fnUntraced(function* (request: Request): Effect.fn.Return<Found, FindRefusal> {
    const bearer = Redacted.value(tokenOf(request))
    // Components in pages have the tokens of stored sessions, whoever signs people in.
    if (findGranted !== undefined && !bearer.startsWith(tokenPrefix)) {
      return yield* findGranted(request)
    }
    const token = bearer === "" ? cookieOf(request) : bearer
    if (token === "") return yield* new SessionRefused()
    if (bearer === "") yield* checkSite(request, true)
    const found = yield* sessions.admit(Redacted.make(token))
    if (found._tag === "Admitted") return { session: found.session }
    if (found._tag === "Limited") {
      const retryAfterSeconds = Math.max(1, Math.ceil(found.retryAfterMillis / 1_000))
      return yield* new SessionLimited({ retryAfterSeconds })
    }
    // The cookie of a session that is over is no attempt to guess one.
    if (bearer === "") return yield* new SessionRefused()
    const retryAfterSeconds = yield* badTokens.count(request)
    if (retryAfterSeconds === undefined) return yield* new SessionRefused()
    return yield* new TooManyBadTokens({ retryAfterSeconds })
  })
})

/** The account of a request. */
const makeAccountOf = Effect.map(KeyStore, (store) =>
  Effect.fnUntraced(function* ({ headers }: Request, { accountId }: Session) {
    const named = headers["x-millrace-account"]
    if (accountId !== null) {
      // Whether the other account exists is not for this session to know.
      if (named === undefined || named === accountId) return accountId
      return yield* new AccountNotFound({ accountId: named })
    }
    if (named === undefined || named === "") {
      const message = "x-millrace-account: expected the account in which the operator acts"
      return yield* new InvalidRequest({ message })
    }
    const account = AccountId.make(named)
    if (Option.isSome(yield* store.findAccount(account))) return account
    return yield* new AccountNotFound({ accountId: named })
  }),
)

/** Admits requests by their sessions. */
export const make = Effect.gen(function* () {
  const { onLoopback } = yield* CurrentConsole
  const checkSite = yield* makeCheckSite
  const find = yield* makeFind
  const accountOf = yield* makeAccountOf

  const admit = Effect.fnUntraced(function* (
    arrived: OperationRequest,
    group: string,
    name: string,
  ): Effect.fn.Return<Arrived, Refusal> {
    const { request } = arrived
    if (onLoopback && !isLoopback(hostOf(request))) return yield* new WrongHost()
    const { does, reach, role } = ruleOf(group, name)
    if (role === null) {
      yield* checkSite(request, false)
      return { arrived }
    }
    const found = yield* find(request)
    const { session } = found
    if (!isAtLeast(session.role, role)) {
      const message = `${does} needs the role ${role}; this session has the role ${session.role}`
      return yield* new NotPermitted({ message })
    }
    if (session.workflows !== null && reach === "none") {
      const message = `${does} needs a session that sees all workflows; this one sees some`
      return yield* new NotPermitted({ message })
    }
    if (withoutAccount.has(group)) return { arrived, ...found }
    return { arrived, ...found, account: yield* accountOf(request, session) }
  })
  return admit
})
