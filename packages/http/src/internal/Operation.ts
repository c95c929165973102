/**
 * The types of operations without HTTP: input, answer and refusals. All of them are derived from
 * the definitions of the two interfaces.
 *
 * Leaves out: following runs, because the answers are streams.
 */
import type { AdminApi } from "@millrace/api/AdminApi"
import type { Api } from "@millrace/api/Api"
import type { ConsoleApi } from "@millrace/api/ConsoleApi"
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import type { Session } from "@millrace/core/domain/Session"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import type { ErrorOf, Refusal } from "../Errors.ts"
import type { RequestNotes } from "./RequestId.ts"

/** The account of a call, and its API key if it has one. */
export interface Caller {
  readonly account: AccountId
  readonly keyId?: KeyId | undefined
  /** The session of the call, if it comes from the console. */
  readonly session?: Session | undefined
  /** What the application calls whoever calls, if it says that. */
  readonly name?: string | null | undefined
  /** Waits until the session is over, if nobody but the application knows that. */
  readonly over?: Effect.Effect<void> | undefined
  /** A client of a caller in this process, in whose transaction the operation takes part. */
  readonly client?: unknown
  /**
   * The workflow of the call, if it was read with the key. None: the account has no such workflow.
   * `undefined`: it was not read.
   */
  readonly ahead?: Option.Option<Workflow> | undefined
}

/** A request at its route. Nothing of it is checked. */
export interface OperationRequest {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, string | Array<string>>>
  readonly notes: RequestNotes
}

/** Admits a request and says whose it is; nobody's, if it is an operator's. */
export type Admit = (
  arrived: OperationRequest,
  group: string,
  name: string,
) => Effect.Effect<Partial<Caller>, Refusal>

/** The answer of an operation, and the facts that HTTP puts into headers. */
export interface OperationAnswer<A> {
  readonly value: A
  /** The revision of the workflow in the answer, in quotes. */
  readonly etag?: string
  /** The address of what was made, from `/api/v1` on. */
  readonly location?: string
  /** The `Set-Cookie` of the answer. */
  readonly cookie?: string
  /** The value is the bytes of a file, which browsers save and never show. */
  readonly file?: { readonly name: string; readonly bytes: number }
  /** True if an earlier start with the same idempotency key gave this answer. */
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

/** The checked input of a call, and the bytes of its body. Not an operator's: with its caller. */
export type Input<
  G extends keyof Groups,
  N extends keyof Endpoints<G>,
  E = EndpointOf<G, N>,
> = (G extends GroupName ? Caller : {}) & PartsOf<E>

type PartsOf<E> = Part<"params", HttpApiEndpoint.Params<E>> &
  Part<"query", HttpApiEndpoint.Query<E>> &
  Part<"headers", HttpApiEndpoint.Headers<E>> &
  Part<"payload", HttpApiEndpoint.Payload<E>> & { readonly bytes: () => Uint8Array }

type ConsoleGroups = (typeof ConsoleApi)["groups"]

/** A group of operations of the console. */
export type ConsoleGroupName = keyof ConsoleGroups

/** The names of the operations of a group of the console. */
export type ConsoleNames<G extends ConsoleGroupName> = keyof ConsoleGroups[G]["endpoints"] & string

/** A call of the console with its session; signing in has none. */
export interface ConsoleCall {
  readonly account?: AccountId
  readonly session?: Session
  readonly arrived: OperationRequest
}

/** The operations of a group that only the console has. */
export type ConsoleOperationsOf<G extends ConsoleGroupName> = {
  readonly [N in ConsoleNames<G>]: (
    input: ConsoleCall & PartsOf<ConsoleGroups[G]["endpoints"][N]>,
  ) => Effect.Effect<
    OperationAnswer<Success<ConsoleGroups[G]["endpoints"][N]>>,
    RefusalOf<ConsoleGroups[G]["endpoints"][N]>
  >
}

type Success<E> = E extends HttpApiEndpoint.Constraint ? E["~Success"]["Type"] : never

/** The refusals whose errors an operation declares. */
type RefusalOf<E> = {
  [T in Refusal["_tag"]]: ErrorOf<
    Extract<Refusal, { readonly _tag: T }>
  > extends HttpApiEndpoint.Errors<E>
    ? Extract<Refusal, { readonly _tag: T }>
    : never
}[Refusal["_tag"]]

/** The operations of a group, except streams. */
export type OperationsOf<G extends keyof Groups> = {
  readonly [N in Exclude<keyof Endpoints<G> & string, "events" | "live">]: (
    input: Input<G, N>,
  ) => Effect.Effect<OperationAnswer<Success<EndpointOf<G, N>>>, RefusalOf<EndpointOf<G, N>>>
}

/** Any operation without its types. The table of operations has checked them. */
export type Operation = (input: never) => Effect.Effect<OperationAnswer<unknown>, Refusal>
