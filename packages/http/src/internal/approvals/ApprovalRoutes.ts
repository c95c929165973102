/**
 * `/approvals/`: the page on which a person decides with a link, and what its script calls.
 *
 * Guarantees: a GET and a HEAD answer the same page whatever link they came from, because the token
 * stands behind the `#`: so a mail scanner decides nothing. Limits hold before a body is parsed. A
 * token that is wrong, foreign or malformed has one answer. Nothing of a request is logged. Leaves
 * out: deciding, which the engine does.
 */
import { LinkDecision, LinkDelegation, LinkToken } from "@millrace/api/ApprovalWire"
import { approvalBodyBytes, CurrentLimits } from "@millrace/core/domain/Limits"
import { format } from "@millrace/core/domain/Timestamp"
import { Approvals } from "@millrace/core/engine/Approvals"
import { Clock, Effect, Option, Redacted, type Schema } from "effect"
import { Digest } from "effect/crypto"
import * as Hex from "effect/encoding/Hex"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { approvalsPath } from "../../Addresses.ts"
import type { Refusal } from "../../Errors.ts"
import { ApprovalLimited, LinkRefused, refuse, TooManyBadTokens } from "../../Errors.ts"
import { reader } from "../Body.ts"
import { FailedAuthLimiter } from "../FailedAuthLimiter.ts"
import { MinuteCounts } from "../MinuteCounts.ts"
import { approvalPage, approvalStyles } from "./ApprovalPage.ts"
import { approvalScript } from "./ApprovalScript.ts"

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

const headers = {
  "cache-control": "no-store",
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
}

const file = (text: string, contentType: string) =>
  Effect.succeed(HttpServerResponse.text(text, { contentType, headers }))

const json = (value: unknown) =>
  HttpServerResponse.jsonUnsafe(value, { headers: { "cache-control": "no-store" } })

interface WithToken {
  readonly token: string
}

const make = Effect.gen(function* () {
  const approvals = yield* Approvals
  const badTokens = yield* FailedAuthLimiter
  const clock = yield* Clock.Clock
  const { digest } = yield* Digest.Digest
  const limits = yield* CurrentLimits
  const counts = new MinuteCounts(limits.requestsPerApproval, limits.badTokenSources)

  /** Calls with what the page sent, within its limits. */
  const route = <B extends WithToken, I, A>(
    schema: Schema.Codec<B, I>,
    call: (body: B, token: Redacted.Redacted) => Effect.Effect<Option.Option<A>, Refusal>,
    shown: (value: A) => unknown,
  ) => {
    const read = reader(schema)
    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { body } = yield* Effect.provideService(read(request), CurrentLimits, {
        ...limits,
        bodyBytes: Math.min(limits.bodyBytes, approvalBodyBytes),
      })
      const text = new TextEncoder().encode(body.token)
      const source = Hex.encode(yield* Effect.orDie(digest(Digest.sha256, text)))
      const tooMany = counts.add(source, clock.currentTimeMillisUnsafe())
      if (tooMany !== undefined) return yield* new ApprovalLimited({ retryAfterSeconds: tooMany })
      const found = yield* call(body, Redacted.make(body.token))
      if (Option.isSome(found)) return json(shown(found.value))
      const retryAfterSeconds = yield* badTokens.count(request)
      if (retryAfterSeconds === undefined) return yield* new LinkRefused()
      return yield* new TooManyBadTokens({ retryAfterSeconds })
    })
    return Effect.catch(answer, refuse)
  }

  return {
    read: route(
      LinkToken,
      (_, token) => approvals.readOpen(token),
      ({ address, description, form, state, title }) => ({
        title,
        description,
        fields: form,
        address,
        expiresAt: state.expiresAt === null ? null : format(state.expiresAt),
        mayDelegate: state.mayDelegate,
      }),
    ),
    decide: route(
      LinkDecision,
      ({ token: _, ...answer }, token) => approvals.decideBy(token, answer),
      ({ at, ...decision }) => ({ ...decision, at: format(at) }),
    ),
    delegate: route(
      LinkDelegation,
      ({ to }, token) => approvals.delegate(token, to),
      () => ({}),
    ),
  }
})

/** The page, its files, and what its script calls. */
export const layer = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const { decide, delegate, read } = yield* Effect.provide(make, Digest.layerWebCrypto)
    const toFolder = Effect.succeed(
      HttpServerResponse.redirect(`.${approvalsPath}`, { status: 308, headers }),
    )
    yield* router.add("GET", "/approvals", toFolder)
    const page = file(approvalPage, "text/html; charset=utf-8")
    yield* router.add("GET", approvalsPath, page)
    yield* router.add(
      "GET",
      `${approvalsPath}page.css`,
      file(approvalStyles, "text/css; charset=utf-8"),
    )
    yield* router.add(
      "GET",
      `${approvalsPath}page.js`,
      file(approvalScript, "text/javascript; charset=utf-8"),
    )
    yield* router.add("POST", `${approvalsPath}read`, read)
    yield* router.add("POST", `${approvalsPath}decide`, decide)
    yield* router.add("POST", `${approvalsPath}delegate`, delegate)
  }),
)
