/**
 * Resolves a host name to its addresses.
 *
 * Guarantees: it returns all addresses of the name, so the guard can judge each of them. Leaves
 * out: judging them, and caching.
 */
import { promises as dns } from "node:dns"
import { Data, Effect } from "effect"

/** The name has no address, or nobody could be asked. */
export class Unresolvable extends Data.TaggedError("Unresolvable")<{
  /** True when it is not known that there is none. */
  readonly isTemporary: boolean
}> {}

/** Finds every address of a host name. */
export type Resolver = (hostname: string) => Effect.Effect<ReadonlyArray<string>, Unresolvable>

/** What is said of a name that does not exist, or has no address. */
const definite = new Set<unknown>(["ENOTFOUND", "ENODATA"])

const isDefinite = (error: unknown): boolean =>
  error instanceof Error && "code" in error && definite.has(error.code)

/** Asks the operating system, in the order it prefers. */
export const system: Resolver = (hostname) =>
  Effect.tryPromise({
    try: async () => {
      const found = await dns.lookup(hostname, { all: true, order: "verbatim" })
      return found.map((each) => each.address)
    },
    catch: (error) => new Unresolvable({ isTemporary: !isDefinite(error) }),
  })
