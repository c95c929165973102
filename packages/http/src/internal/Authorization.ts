/**
 * Admits requests by their API keys, or as the application says that mounts the interface. Adds the
 * headers that show the keys' limits (specification, parts 5 and 8).
 *
 * Guarantees: one step of the store checks key and limits, before anything but the route of the
 * request is read. Every answer to a request with a good key has the rate headers, also an error.
 * If the operation only reads a workflow, the same step reads it.
 */
import { WorkflowId } from "@millrace/core/domain/Id"
import { Effect } from "effect"
import { Authenticator, rateHeadersOf, tokenOf } from "./Authenticator.ts"
import type { Admit } from "./Operation.ts"

/** Admits requests by what the authenticator decides. */
export const make: Effect.Effect<Admit, never, Authenticator> = Effect.map(
  Authenticator,
  (authenticator): Admit =>
    Effect.fnUntraced(function* ({ notes, params, request }, group, name) {
      const { id } = params
      // An operation that only reads a workflow. A malformed identifier is refused later.
      const isRead = group === "workflows" && name === "get" && id
      const ahead = isRead ? WorkflowId.make(id) : undefined
      const decision = yield* authenticator.ask(request, tokenOf(request), ahead)
      if (decision._tag === "Refused") return yield* decision.refusal
      if (decision._tag === "Authorized") return { account: decision.accountId }
      notes.headers = rateHeadersOf(decision.window)
      if (decision._tag === "Limited") return yield* decision.refusal
      const { accountId, keyId, workflow } = decision
      return { account: accountId, keyId, ahead: workflow }
    }),
)
