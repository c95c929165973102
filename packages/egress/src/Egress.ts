/**
 * The guard for calls to addresses that strangers give: requests over HTTP, and sockets for other
 * protocols.
 *
 * Guarantees: nothing is sent to an address that the policy does not permit. The guard judges the
 * address in the URL, or every address of its name; one bad address refuses the call. It connects
 * to a judged address, so a name that resolves differently afterwards gains nothing. Redirects are
 * not followed. One timeout bounds the whole call, and the answer's size is bounded. If the policy
 * bounds the calls at the same time, further calls wait in turn; their timeout begins with their
 * turn. Leaves out: retries.
 */
import { Context, Effect, Layer, Option, Result, Scope } from "effect"
import type { Address } from "./Address.ts"
import { bareHost, parse } from "./Address.ts"
import type { Answer, Outgoing } from "./internal/Exchange.ts"
import type { Connections } from "./internal/Connection.ts"
import { Deadlines } from "./internal/Deadlines.ts"
import { exchange } from "./internal/Exchange.ts"
import type { Bounds, CallRefusal } from "./internal/Failure.ts"
import { EgressFailed, EgressRefused } from "./internal/Failure.ts"
import type { Confined } from "./Confined.ts"
import { foundIn, problemOfConfined } from "./Confined.ts"
import { problemOfHeaders } from "./Headers.ts"
import type { CallTarget, Policy, Protocol, Rules } from "./Policy.ts"
import type { SocketDestination } from "./Policy.ts"
import { httpsOnly, narrowed, never, permits, secretTarget } from "./Policy.ts"
import { rulesOf, targetOf, targetOfSocket } from "./Policy.ts"
import type { Resolver } from "./Resolve.ts"
import { system } from "./Resolve.ts"
import type { OpenSocket } from "./internal/Sockets.ts"
import { withSocket } from "./internal/Sockets.ts"
import { Turns } from "./internal/Turns.ts"

export { EgressFailed, EgressRefused } from "./internal/Failure.ts"
export type { FailureReason } from "./internal/Failure.ts"
export type { Answer } from "./internal/Exchange.ts"
export type { OpenSocket } from "./internal/Sockets.ts"

/** The methods that may be used. */
export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS"

/** A call. Its bounds and protocols can only narrow those of the policy. */
export interface Call {
  readonly method: Method
  readonly url: string
  /** Who calls. Accounts with waiting calls take turns, if the policy bounds calls. */
  readonly account?: string
  /** `Headers.ts` lists the headers that may not be set. */
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string | Uint8Array
  readonly timeoutMillis?: number
  readonly maxBodyBytes?: number
  /** How many bytes of the answer are kept; the rest is read and dropped. */
  readonly keptBodyBytes?: number
  readonly protocols?: ReadonlyArray<Protocol>
  /** What of the request may go to some hosts only. A call that takes it elsewhere is refused. */
  readonly confined?: ReadonlyArray<Confined>
  /** What to do with an answer that is larger than allowed; `fail` by default. */
  readonly overflow?: "fail" | "truncate"
}

/** A connection for another protocol. Its bounds can only narrow those of the policy. */
export interface SocketCall extends SocketDestination {
  /** Who calls. Accounts with waiting calls take turns, if the policy bounds calls. */
  readonly account?: string
  /** For the whole use, with resolving and connecting. */
  readonly timeoutMillis?: number
  /** Everything that will be sent: what of it may go to some hosts only is judged before. */
  readonly leaving: ReadonlyArray<string>
  readonly confined?: ReadonlyArray<Confined>
}

export class Egress extends Context.Service<
  Egress,
  {
    /**
     * Calls a URL and reads the whole answer, of any status. Fails with `EgressRefused` if the call
     * is not allowed; then nothing was sent. Fails with `EgressFailed` if there was no answer.
     */
    readonly request: (call: Call) => Effect.Effect<Answer, EgressRefused | EgressFailed>
    /**
     * Checks whether a URL may be called now: the URL itself, and the addresses of its name. Fails
     * with `EgressFailed` only if the name certainly has no address. If the resolver does not
     * answer in time, the check passes, and the call decides. Connects to nothing.
     */
    readonly judge: (url: string) => Effect.Effect<void, EgressRefused | EgressFailed>
    /**
     * Connects, and uses the connection; then it is closed, however the use has ended. A connection
     * without TLS goes only to networks that the policy allows. Fails with `EgressRefused` if the
     * call is not allowed; then nothing was sent. Fails with `EgressFailed` if there is no
     * connection, if it breaks, or if the server sends too much or the use takes too long.
     */
    readonly socket: <A, E, R>(
      call: SocketCall,
      use: (socket: OpenSocket) => Effect.Effect<A, E, R>,
    ) => Effect.Effect<A, E | EgressRefused | EgressFailed, R>
  }
>()("@millrace/egress/Egress") {
  /**
   * The guard with a policy. Absent fields are those of `httpsOnly`. An exception whose network is
   * not in CIDR notation is a defect when the layer is built.
   */
  static readonly layer = (
    policy: Partial<Policy> = {},
    resolve: Resolver = system,
  ): Layer.Layer<Egress> =>
    Layer.effect(
      Egress,
      Effect.gen(function* () {
        const all = { ...httpsOnly, ...policy }
        const connections = yield* opened(all.idleMillis)
        const deadlines = yield* Deadlines.make
        const turns = all.calls === null ? undefined : new Turns(all.calls)
        return Egress.of(guard(all, resolve, connections, deadlines, turns))
      }),
    )
}

/** The connections of a guard, which are made when they are needed first. */
const opened = Effect.fnUntraced(function* (idleMillis: number) {
  const scope = yield* Effect.scope
  const open = Effect.map(
    Effect.promise(() => import("./internal/Connection.ts")),
    ({ Connections: Opened }) => new Opened(idleMillis),
  )
  const close = (connections: Connections) => Effect.sync(() => connections.close())
  return yield* Effect.cached(Scope.provide(Effect.acquireRelease(open, close), scope))
})

const lower = (bound: number, wanted: number | undefined): number =>
  wanted === undefined ? bound : Math.min(bound, wanted)

/** The bounds of a call that begins now. They never exceed those of the policy. */
const boundsOf = (policy: Policy, call: Call, deadlines: Deadlines) => {
  const timeoutMillis = lower(policy.timeoutMillis, call.timeoutMillis)
  return {
    timeoutMillis,
    deadline: deadlines.after(timeoutMillis),
    maxBodyBytes: lower(policy.maxBodyBytes, call.maxBodyBytes),
  }
}

const outgoingOf = (
  call: Call,
  bounds: ReturnType<typeof boundsOf>,
  url: URL,
  addresses: ReadonlyArray<Address>,
) =>
  ({
    ...bounds,
    method: call.method,
    url,
    addresses: addresses.map(String),
    headers: call.headers ?? {},
    body: call.body ?? null,
    keptBodyBytes: lower(bounds.maxBodyBytes, call.keptBodyBytes),
    overflow: call.overflow ?? "fail",
  }) satisfies Outgoing

/** The addresses of a name, if all of them may be called. */
const judged = (
  { reach, refusal, url }: CallTarget,
  found: ReadonlyArray<string>,
): Effect.Effect<ReadonlyArray<Address>, EgressRefused | EgressFailed> => {
  if (found.length === 0) return Effect.fail(EgressFailed.unresolved(url.hostname))
  const addresses = found.map(parse).filter((each) => each !== undefined)
  const good = addresses.filter((each) => permits(reach, each))
  return good.length === found.length
    ? Effect.succeed(good)
    : Effect.fail(EgressRefused.by(refusal))
}

/** How long the resolver may take in `judge`. */
const judgeMillis = 1_000

/** The addresses of a name, within the timeout of the call. */
const addressesOf = (resolve: Resolver, target: CallTarget, bounds: Bounds) =>
  resolve(bareHost(target.url.hostname)).pipe(
    Effect.mapError(() => EgressFailed.unresolved(target.url.hostname)),
    Effect.flatMap((found) => judged(target, found)),
    Effect.timeoutOrElse({
      duration: bounds.timeoutMillis,
      orElse: () => Effect.fail(EgressFailed.of("timeout", bounds)),
    }),
  )

/** Connects to a target and uses the connection, within the timeout of the call. */
const connecting =
  <A, E, R>(call: SocketCall, use: (socket: OpenSocket) => Effect.Effect<A, E, R>) =>
  (policy: Policy, resolve: Resolver, target: CallTarget) => {
    const timeoutMillis = lower(policy.timeoutMillis, call.timeoutMillis)
    const bounds = { timeoutMillis, maxBodyBytes: policy.maxBodyBytes }
    const { literal } = target
    const to = { ...bounds, host: bareHost(target.url.hostname), port: call.port }
    const found =
      literal === undefined ? addressesOf(resolve, target, bounds) : Effect.succeed([literal])
    return Effect.flatMap(found, (addresses) =>
      withSocket({ ...to, addresses: addresses.map(String) }, use),
    ).pipe(
      Effect.timeoutOrElse({
        duration: timeoutMillis,
        orElse: () => Effect.fail(EgressFailed.of("timeout", bounds)),
      }),
    )
  }

/** The target of a call, or why it may not be made. */
const admitted = (call: Call, rules: Rules): Result.Result<CallTarget, CallRefusal> =>
  Result.gen(function* () {
    const { confined = [], headers = {}, protocols } = call
    const target = yield* targetOf(call.url, protocols ? narrowed(rules, protocols) : rules)
    const problem = problemOfHeaders(headers) ?? problemOfConfined(confined, target.url, call)
    if (problem !== undefined) return yield* Result.fail(never(problem))
    const secret = foundIn(confined, target.url, call)
    return secret === undefined
      ? target
      : yield* secretTarget(target, `The secret ${JSON.stringify(secret.name)}`)
  })

const socketsOf =
  (policy: Policy, resolve: Resolver, turns: Turns | undefined): Egress["Service"]["socket"] =>
  (call, use) =>
    Effect.suspend(() => {
      const target = targetOfSocket(call, rulesOf(policy))
      if (Result.isFailure(target)) return Effect.fail(EgressRefused.by(target.failure))
      const { confined = [], host, leaving } = call
      const { url } = target.success
      const problem = problemOfConfined(confined, url, { url: host, body: leaving.join("\n") })
      if (problem !== undefined) return Effect.fail(EgressRefused.of(problem))
      const inTime = Effect.suspend(() => connecting(call, use)(policy, resolve, target.success))
      return turns === undefined ? inTime : turns.inTurn(call.account ?? "", url.href, inTime)
    })

const guard = (
  policy: Policy,
  resolve: Resolver,
  connections: Effect.Effect<Connections>,
  deadlines: Deadlines,
  turns: Turns | undefined,
): Egress["Service"] => {
  const rules = rulesOf(policy)
  const perform = (call: Call, target: CallTarget) => {
    const bounds = boundsOf(policy, call, deadlines)
    const send = (addresses: ReadonlyArray<Address>) =>
      Effect.flatMap(connections, (known) =>
        exchange(outgoingOf(call, bounds, target.url, addresses), known, deadlines),
      )
    return target.literal === undefined
      ? Effect.flatMap(addressesOf(resolve, target, bounds), send)
      : send([target.literal])
  }
  return {
    socket: socketsOf(policy, resolve, turns),
    judge: Effect.fn("Egress.judge")(function* (text: string) {
      const result = targetOf(text, rules)
      if (Result.isFailure(result)) return yield* EgressRefused.by(result.failure)
      const target = result.success
      if (target.literal !== undefined) return
      const found = yield* resolve(bareHost(target.url.hostname)).pipe(
        Effect.timeoutOption(judgeMillis),
        Effect.catch((error) =>
          error.isTemporary
            ? Effect.succeedNone
            : Effect.fail(EgressFailed.unresolved(target.url.hostname)),
        ),
      )
      if (Option.isSome(found)) yield* judged(target, found.value)
    }),
    request: (call) =>
      Effect.suspend(() => {
        const target = admitted(call, rules)
        if (Result.isFailure(target)) return Effect.fail(EgressRefused.by(target.failure))
        if (turns === undefined) return perform(call, target.success)
        const inTime = Effect.suspend(() => perform(call, target.success))
        return turns.inTurn(call.account ?? "", target.success.url.origin, inTime)
      }),
  }
}
