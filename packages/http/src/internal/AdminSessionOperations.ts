/**
 * The admin operations on sessions.
 */
import { AccountId, SessionId } from "@millrace/core/domain/Id"
import { Sessions } from "@millrace/core/engine/Sessions"
import { Effect } from "effect"
import type { OperationsOf } from "./Operation.ts"
import { makeShown, makeShownTicket } from "./SessionForms.ts"

const ownerOf = (id: string | undefined) => (id === undefined ? null : AccountId.make(id))

/** The operations of the group `sessions`. */
export const make = Effect.gen(function* () {
  const sessions = yield* Sessions
  const shown = yield* makeShown
  const shownTicket = yield* makeShownTicket
  const operations: OperationsOf<"sessions"> = {
    link: Effect.fnUntraced(function* ({ payload: { accountId, role = "owner" } }) {
      const owner = ownerOf(accountId)
      const made = owner === null ? sessions.linkOperator : sessions.link(owner, { role })
      // Nothing is asked for that could be outside its bounds.
      const { session, ticket } = yield* Effect.catchTag(made, "InvalidSession", Effect.die)
      return { value: { session: yield* shown(session), ...shownTicket(ticket) } }
    }),
    list: Effect.fnUntraced(function* ({ query }) {
      const found = yield* sessions.list(ownerOf(query.accountId))
      return { value: { items: yield* Effect.forEach(found, shown) } }
    }),
    revoke: ({ params, query }) =>
      Effect.map(sessions.revoke(ownerOf(query.accountId), SessionId.make(params.id)), (value) => ({
        value,
      })),
  }
  return operations
})
