/**
 * The runs in quarantine of a server, over its interface for operators.
 */
import type { AdminClient } from "@millrace/api/AdminClient"
import { Effect } from "effect"
import type { QuarantineAdmin } from "./QuarantineAdmin.ts"
import type { CommandFailed } from "../../CommandFailed.ts"

type Client = Pick<AdminClient, "quarantine">

/** Why a call does not work. */
export type Failure = Effect.Error<
  | ReturnType<Client["quarantine"]["list"]>
  | ReturnType<Client["quarantine"]["release"]>
  | ReturnType<Client["quarantine"]["end"]>
>

/** Makes a call, and words why it did not work. */
type Run = <A>(call: Effect.Effect<A, Failure>) => Effect.Effect<A, CommandFailed>

/** What can be done with the runs in quarantine of a server. */
export const make = ({ quarantine }: Client, run: Run): QuarantineAdmin => ({
  list: Effect.map(run(quarantine.list()), ({ items }) => items),
  release: (id) => Effect.asVoid(run(quarantine.release({ params: { id } }))),
  end: (id) => run(quarantine.end({ params: { id } })),
})
