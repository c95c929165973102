/**
 * The credits of a running server, over its interface for operators.
 */
import type { AdminClient } from "@millrace/api/AdminClient"
import type { NewAdminOperation } from "@millrace/core/engine/Accounting"
import { Effect, Option, Stream } from "effect"
import type { CreditAdmin } from "./CreditAdmin.ts"
import type { CommandFailed } from "../../CommandFailed.ts"

type Client = Pick<AdminClient, "audit" | "credits">

/** Why a call does not work. */
export type Failure = Effect.Error<
  | ReturnType<Client["credits"]["show"]>
  | ReturnType<Client["credits"]["grant"]>
  | ReturnType<Client["credits"]["statement"]>
  | ReturnType<Client["audit"]["audit"]>
>

/** Makes a call, and words why it did not work. */
type Run = <A>(call: Effect.Effect<A, Failure>) => Effect.Effect<A, CommandFailed>

/** How many entries are asked for at once. */
const limit = 1_000

/** What was said, without what was left out. */
const given = <D extends NewAdminOperation>(operation: D) =>
  Object.fromEntries(Object.entries(operation).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof D]: Exclude<D[K], undefined>
  }

/** What can be done with the credits of a server. */
export const make = ({ audit, credits }: Client, run: Run): CreditAdmin => ({
  find: (id) =>
    Effect.map(run(credits.show({ params: { id } })), ({ balance, grants }) => ({
      account: balance,
      grants,
    })),
  grant: (id, grant) => run(credits.grant({ params: { id }, payload: given(grant) })),
  adjust: (id, change) => run(credits.adjust({ params: { id }, payload: given(change) })),
  meter: (id, operation, metered) =>
    run(credits.meter({ params: { id }, payload: { ...given(operation), metered } })),
  entries: (id) =>
    Stream.paginate(undefined as number | undefined, (before) => {
      const query = { limit, ...(before === undefined ? {} : { before }) }
      return Effect.map(
        run(credits.statement({ params: { id }, query })),
        ({ items, nextBefore }) => [items, Option.fromNullOr(nextBefore)] as const,
      )
    }),
  audit: run(audit.audit()),
})
