/**
 * What the operations of operators have in common: whose call it is, and how a body is read.
 */
import { AccountId } from "@millrace/core/domain/Id"
import type { Schema } from "effect"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Refusal } from "../Errors.ts"
import { refuse } from "../Errors.ts"
import { reader } from "./Body.ts"

/** A request that names an account, a run or a delivery. */
export interface ById {
  readonly params: { readonly id: string }
}

/** The account that a request names. */
export const accountOf = ({ params }: ById): AccountId => AccountId.make(params.id)

/** A request whose body is read here. */
interface WithBody {
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Reads the body of a request, and does with it what is to be done. */
export const withBody = <B, I, Call, A, R extends Refusal>(
  schema: Schema.Codec<B, I>,
  run: (body: B, call: Call) => Effect.Effect<A, R>,
) => {
  const read = reader(schema)
  return (call: Call & WithBody) =>
    Effect.flatMap(read(call.request), (body) => Effect.catch(run(body, call), refuse))
}
