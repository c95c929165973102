/**
 * Admits requests by their API keys, or asks the application that mounts the interface. Adds the
 * headers that show the keys' limits (specification, parts 5 and 8).
 *
 * Guarantees: one operation of the store checks key and limits, before anything but the route of
 * the request is read. Every answer to a request with a valid key has the rate headers, also an
 * error. If the request only reads a workflow, the same operation reads it.
 */
import { WorkflowId } from "@millrace/core/domain/Id"
import { Effect } from "effect"
import { Authenticator, rateHeadersOf, tokenOf } from "./Authenticator.ts"
import type { Admit } from "./Operation.ts"

export const make: Effect.Effect<Admit, never, Authenticator> = Effect.map(
  Authenticator,
  (authenticator): Admit =>
    Effect.fnUntraced(function* ({ notes, params, request }, group, name) {
      const { id } = params
      // The store reads the workflow with the key. A malformed id is refused later.
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
