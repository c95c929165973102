/**
 * The form of an operation without HTTP: what a call brings, what it answers or is refused for.
 * Types only, and all of them follow from the definitions of the two interfaces.
 *
 * Leaves out: following a run, whose answer is a stream.
 */
import type { AdminApi } from "@millrace/api/AdminApi"
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

/** A group of operations of an account. */
export type GroupName = keyof (typeof Api)["groups"]

/** A group of operations of operators. */
export type AdminGroupName = keyof (typeof AdminApi)["groups"]

type Groups = (typeof Api)["groups"] & (typeof AdminApi)["groups"]
type Endpoints<G extends keyof Groups> = Groups[G]["endpoints"]

type EndpointOf<G extends keyof Groups, N> = N extends keyof Endpoints<G> ? Endpoints<G>[N] : never

type Part<Name extends string, S> = [S] extends [never]
  ? {}
  : { readonly [K in Name]: S extends { readonly Type: infer A } ? A : never }

/** What a call brings, checked; unless it is an operator's, whose it is. A body has its bytes. */
export type Input<
  G extends keyof Groups,
  N extends keyof Endpoints<G>,
  E = EndpointOf<G, N>,
> = (G extends GroupName ? Caller : {}) &
  Part<"params", HttpApiEndpoint.Params<E>> &
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

/** What every operation of a group does that answers once. */
export type OperationsOf<G extends keyof Groups> = {
  readonly [N in Exclude<keyof Endpoints<G> & string, "events">]: (
    input: Input<G, N>,
  ) => Effect.Effect<OperationAnswer<Success<EndpointOf<G, N>>>, RefusalOf<EndpointOf<G, N>>>
}

/** Any operation, seen without its types: the table of operations has checked them. */
export type Operation = (input: never) => Effect.Effect<OperationAnswer<unknown>, Refusal>
