/**
 * The guard through which an address that a stranger gave is called.
 *
 * Guarantees: nothing is sent to an address that the policy does not permit. The URL's literal and
 * every address its name resolves to are judged, one bad address refuses them all, and the
 * connection goes to a judged address: a name that changes its mind in between gains nothing.
 * Redirects come back as they are. One timeout bounds the whole exchange, and the answer's size is
 * bounded. Leaves out: retries, and limits on how much one stranger may call.
 */
import { Context, Effect, Layer, Option } from "effect"
import { bareHost, canonical, isCidr, literalOf } from "./Address.ts"
import type { Answer, Outgoing } from "./Exchange.ts"
import { Connections } from "./Connection.ts"
import { exchange } from "./Exchange.ts"
import { EgressFailed, EgressRefused } from "./Failure.ts"
import { problemOfHeaders } from "./Headers.ts"
import type { Policy, Protocol } from "./Policy.ts"
import { httpsOnly, notPublic, permits, problemOfUrl } from "./Policy.ts"
import type { Resolver } from "./Resolve.ts"
import { Resolve } from "./Resolve.ts"

export { EgressFailed, EgressRefused } from "./Failure.ts"
export type { FailureReason } from "./Failure.ts"
export type { Answer } from "./Exchange.ts"

/** The methods that may be used. */
export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS"

/** A call. What it says of bounds and protocols can only narrow what the policy permits. */
export interface Call {
  readonly method: Method
  readonly url: string
  /** See `Headers.ts` for those that may not be set. */
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string | Uint8Array
  readonly timeoutMillis?: number
  readonly maxBodyBytes?: number
  /** How much of the answer's beginning is kept; what is read beyond it is thrown away. */
  readonly keptBodyBytes?: number
  readonly protocols?: ReadonlyArray<Protocol>
  /** What to do with an answer that is larger than allowed; `fail` where nothing is said. */
  readonly overflow?: "fail" | "truncate"
}

export class Egress extends Context.Service<
  Egress,
  {
    /**
     * Calls a URL and reads the whole answer, of any status. Fails with `EgressRefused` when the
     * call is not allowed (nothing was sent then), and with `EgressFailed` when no answer came.
     */
    readonly request: (call: Call) => Effect.Effect<Answer, EgressRefused | EgressFailed>
    /**
     * Says whether a URL may be called as things are now: what it is and where its name leads.
     * Fails with `EgressFailed` only when it is certain that the name has no address; a resolver
     * that does not answer in time leaves the question to the call. Connects to nothing.
     */
    readonly judge: (url: string) => Effect.Effect<void, EgressRefused | EgressFailed>
  }
>()("@millrace/egress/Egress") {
  /**
   * The guard with a policy; what is left out is as in `httpsOnly`. `Resolve` resolves names. An
   * exception whose network is not in CIDR notation is a defect at start.
   */
  static readonly layer = (policy: Partial<Policy> = {}): Layer.Layer<Egress> =>
    Layer.effect(
      Egress,
      Effect.gen(function* () {
        const all = { ...httpsOnly, ...policy }
        const connections = yield* Effect.acquireRelease(
          Effect.sync(() => new Connections(all.idleMillis)),
          (each) => Effect.sync(() => each.close()),
        )
        return Egress.of(guard(all, yield* Resolve, connections))
      }),
    )
}

const lower = (bound: number, wanted: number | undefined): number =>
  wanted === undefined ? bound : Math.min(bound, wanted)

/** The policy for one call: never wider than the policy it comes from. */
const narrowed = (policy: Policy, call: Call): Policy => {
  const { protocols } = call
  const bounds = {
    timeoutMillis: lower(policy.timeoutMillis, call.timeoutMillis),
    maxBodyBytes: lower(policy.maxBodyBytes, call.maxBodyBytes),
  }
  if (protocols === undefined) return { ...policy, ...bounds }
  const among = (all: ReadonlyArray<Protocol>) => all.filter((each) => protocols.includes(each))
  return {
    ...policy,
    ...bounds,
    protocols: among(policy.protocols),
    allow: policy.allow.map((each) => ({
      ...each,
      protocols: among(each.protocols ?? ["http:", "https:"]),
    })),
  }
}

const problemOfCall = (call: Call, policy: Policy): string | undefined =>
  problemOfUrl(call.url, policy) ?? problemOfHeaders(call.headers ?? {})

const outgoingOf = (call: Call, policy: Policy, url: URL, addresses: ReadonlyArray<string>) =>
  ({
    method: call.method,
    url,
    addresses: addresses.map(canonical),
    headers: call.headers ?? {},
    body: call.body ?? null,
    timeoutMillis: policy.timeoutMillis,
    maxBodyBytes: policy.maxBodyBytes,
    keptBodyBytes: lower(policy.maxBodyBytes, call.keptBodyBytes),
    overflow: call.overflow ?? "fail",
  }) satisfies Outgoing

/** How long a resolver may take where the answer is not needed yet. */
const judgeMillis = 1_000

const guard = (policy: Policy, resolve: Resolver, connections: Connections): Egress["Service"] => {
  for (const { cidr } of policy.allow) {
    if (!isCidr(cidr)) throw new Error(`"${cidr}" is not a network in CIDR notation`)
  }
  const resolved = (url: URL): ReturnType<Resolver> => {
    const literal = literalOf(url.hostname)
    return literal === undefined ? resolve(bareHost(url.hostname)) : Effect.succeed([literal])
  }
  const judged = (
    url: URL,
    bounds: Policy,
    addresses: ReadonlyArray<string>,
  ): Effect.Effect<ReadonlyArray<string>, EgressRefused | EgressFailed> => {
    if (addresses.length === 0) return Effect.fail(EgressFailed.of("unresolvable", bounds))
    return addresses.every((each) => permits(bounds, url, each))
      ? Effect.succeed(addresses)
      : Effect.fail(EgressRefused.of(notPublic))
  }
  const addressesOf = (url: URL, bounds: Policy) =>
    resolved(url).pipe(
      Effect.mapError(() => EgressFailed.of("unresolvable", bounds)),
      Effect.flatMap((addresses) => judged(url, bounds, addresses)),
    )
  const perform = Effect.fnUntraced(function* (call: Call, bounds: Policy) {
    const url = new URL(call.url)
    const addresses = yield* addressesOf(url, bounds)
    return yield* exchange(outgoingOf(call, bounds, url, addresses), connections)
  })
  const judge = Effect.fn("Egress.judge")(function* (text: string) {
    const problem = problemOfUrl(text, policy)
    if (problem !== undefined) return yield* EgressRefused.of(problem)
    const url = new URL(text)
    const found = yield* resolved(url).pipe(
      Effect.timeoutOption(judgeMillis),
      Effect.catch((error) =>
        error.isTemporary
          ? Effect.succeedNone
          : Effect.fail(EgressFailed.of("unresolvable", policy)),
      ),
    )
    if (Option.isSome(found)) yield* judged(url, policy, found.value)
  })
  return {
    judge,
    request: Effect.fn("Egress.request")(function* (call: Call) {
      const bounds = narrowed(policy, call)
      const problem = problemOfCall(call, bounds)
      if (problem !== undefined) return yield* EgressRefused.of(problem)
      return yield* Effect.timeoutOrElse(perform(call, bounds), {
        duration: bounds.timeoutMillis,
        orElse: () => Effect.fail(EgressFailed.of("timeout", bounds)),
      })
    }),
  }
}
