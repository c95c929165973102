/**
 * From a host name to its addresses.
 *
 * Guarantees: all addresses of the name come back, so that all of them can be judged. Leaves out:
 * judging them, and caching.
 */
import { promises as dns } from "node:dns"
import { Context, Data, Effect } from "effect"

/** The name has no address, or nobody could be asked. */
export class Unresolvable extends Data.TaggedError("Unresolvable")<{}> {}

/** Finds every address of a host name. */
export type Resolver = (hostname: string) => Effect.Effect<ReadonlyArray<string>, Unresolvable>

/** Asks the operating system, in the order it prefers. */
export const system: Resolver = (hostname) =>
  Effect.tryPromise({
    try: async () => {
      const found = await dns.lookup(hostname, { all: true, order: "verbatim" })
      return found.map((each) => each.address)
    },
    catch: () => new Unresolvable(),
  })

/** The resolver in force, read when the guard is built. Override with `Layer.succeed`. */
export const Resolve = Context.Reference<Resolver>("@millrace/egress/Resolve", {
  defaultValue: () => system,
})
