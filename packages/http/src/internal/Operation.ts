/**
 * The form of an operation without HTTP: whose call it is, what the call brings, what it answers or
 * is refused for. Types only, and all of them follow from the definition of the interface.
 *
 * Leaves out: following a run, whose answer is a stream.
 */
import type { Api } from "@millrace/api/Api"
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import type { Effect } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import type { ErrorOf, Refusal } from "../Errors.ts"

/** Whose call it is, and with which API key if it came with one. */
export interface Caller {
  readonly account: AccountId
  readonly keyId?: KeyId | undefined
}

/** What an operation answers, and what it says beside it. */
export interface OperationAnswer<A> {
  readonly value: A
  /** The revision of the workflow in the answer, in quotes. */
  readonly etag?: string
  /** Where the thing is that was made, from `/api/v1` on. */
  readonly location?: string
  /** True where an earlier start under the same idempotency key gave this answer. */
  readonly isReplay?: boolean
}

type Groups = (typeof Api)["groups"]

/** A group of operations. */
export type GroupName = keyof Groups

/** The name of an operation that answers once. */
export type OperationName<G extends GroupName> = Exclude<
  keyof Groups[G]["endpoints"] & string,
  "events"
>

type EndpointOf<G extends GroupName, N> = N extends keyof Groups[G]["endpoints"]
  ? Groups[G]["endpoints"][N]
  : never

type Part<Name extends string, S> = [S] extends [never]
  ? {}
  : { readonly [K in Name]: S extends { readonly Type: infer A } ? A : never }

/** What a call brings, checked. A body has its bytes, too. */
export type Input<
  G extends GroupName,
  N extends keyof Groups[G]["endpoints"],
  E = EndpointOf<G, N>,
> = Part<"params", HttpApiEndpoint.Params<E>> &
  Part<"query", HttpApiEndpoint.Query<E>> &
  Part<"headers", HttpApiEndpoint.Headers<E>> &
  Part<"payload", HttpApiEndpoint.Payload<E>> & { readonly bytes: () => Uint8Array }

type Success<E> = E extends HttpApiEndpoint.Constraint ? E["~Success"]["Type"] : never

/** The refusals whose errors an operation declares. */
type RefusalOf<E> = {
  [T in Refusal["_tag"]]: ErrorOf<
    Extract<Refusal, { readonly _tag: T }>
  > extends HttpApiEndpoint.Errors<E>
    ? Extract<Refusal, { readonly _tag: T }>
    : never
}[Refusal["_tag"]]

/** What every operation of a group does. */
export type OperationsOf<G extends GroupName> = {
  readonly [N in OperationName<G>]: (
    caller: Caller,
    input: Input<G, N>,
  ) => Effect.Effect<OperationAnswer<Success<EndpointOf<G, N>>>, RefusalOf<EndpointOf<G, N>>>
}
