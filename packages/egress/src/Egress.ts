/**
 * The guard through which an address that a stranger gave is called.
 *
 * Guarantees: nothing is sent to an address that the policy does not permit. The URL's literal and
 * every address its name resolves to are judged, one bad address refuses them all, and the
 * connection goes to a judged address: a name that changes its mind in between gains nothing.
 * Redirects come back as they are. One timeout bounds the whole exchange, and the answer's size is
 * bounded. Leaves out: retries, and limits on how much one stranger may call.
 */
import { Context, Effect, Layer } from "effect"
import { bareHost, canonical, isCidr, literalOf } from "./Address.ts"
import type { Answer, Outgoing } from "./Exchange.ts"
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
  }
>()("@millrace/egress/Egress") {
  /**
   * The guard with a policy; what is left out is as in `httpsOnly`. `Resolve` resolves names. An
   * exception whose network is not in CIDR notation is a defect at start.
   */
  static readonly layer = (policy: Partial<Policy> = {}): Layer.Layer<Egress> =>
    Layer.effect(
      Egress,
      Effect.map(Resolve, (resolve) => Egress.of(guard({ ...httpsOnly, ...policy }, resolve))),
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
    overflow: call.overflow ?? "fail",
  }) satisfies Outgoing

const guard = (policy: Policy, resolve: Resolver): Egress["Service"] => {
  for (const { cidr } of policy.allow) {
    if (!isCidr(cidr)) throw new Error(`"${cidr}" is not a network in CIDR notation`)
  }
  const addressesOf = Effect.fnUntraced(function* (url: URL, bounds: Policy) {
    const unresolvable = () => EgressFailed.of("unresolvable", bounds)
    const literal = literalOf(url.hostname)
    const addresses =
      literal === undefined
        ? yield* Effect.mapError(resolve(bareHost(url.hostname)), unresolvable)
        : [literal]
    if (addresses.length === 0) return yield* unresolvable()
    if (addresses.every((each) => permits(bounds, url, each))) return addresses
    return yield* EgressRefused.of(notPublic)
  })
  const perform = Effect.fnUntraced(function* (call: Call, bounds: Policy) {
    const url = new URL(call.url)
    const addresses = yield* addressesOf(url, bounds)
    return yield* exchange(outgoingOf(call, bounds, url, addresses))
  })
  return {
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
