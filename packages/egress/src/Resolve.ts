/**
 * Resolves a host name to its addresses.
 *
 * Guarantees: returns all addresses of the name, so the guard can judge each of them. Leaves out:
 * judging them, and caching.
 */
import { promises as dns } from "node:dns"
import { Data, Effect } from "effect"

/** The name has no address, or the resolver did not work. */
export class Unresolvable extends Data.TaggedError("Unresolvable")<{
  /** True if the name may have an address all the same. */
  readonly isTemporary: boolean
}> {}

/** Finds every address of a host name. */
export type Resolver = (hostname: string) => Effect.Effect<ReadonlyArray<string>, Unresolvable>

/** The codes for a name that does not exist or has no address. */
const definite = new Set<unknown>(["ENOTFOUND", "ENODATA"])

const isDefinite = (error: unknown): boolean =>
  error instanceof Error && "code" in error && definite.has(error.code)

/** Asks the operating system, and keeps its order. */
export const system: Resolver = (hostname) =>
  Effect.tryPromise({
    try: async () => {
      const found = await dns.lookup(hostname, { all: true, order: "verbatim" })
      return found.map((each) => each.address)
    },
    catch: (error) => new Unresolvable({ isTemporary: !isDefinite(error) }),
  })
