/**
 * The file with the prices of node types.
 *
 * Guarantees: a file that cannot be used is refused in one sentence that names the file and each
 * place in it. Leaves out: what a price means; `Prices` of core says it.
 */
import type { NodeType } from "@millrace/core/domain/NodeType"
import type { Prices } from "@millrace/core/domain/Prices"
import { readPrices } from "@millrace/core/domain/Prices"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { CommandFailed } from "../../CommandFailed.ts"

const refuse = (path: string, clause: string) =>
  new CommandFailed({
    message: `The prices of ${path} cannot be used: ${clause}`,
    reason: "failed",
  })

const clauseOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : String(error)

/** Reads the file, if one is named. */
export const load = Effect.fnUntraced(function* (
  path: string | null,
  types: ReadonlyArray<NodeType>,
): Effect.fn.Return<Prices | undefined, CommandFailed> {
  if (path === null) return undefined
  const text = yield* Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) => refuse(path, clauseOf(error)),
  })
  const given = yield* Effect.try({
    try: () => JSON.parse(text) as unknown,
    catch: (error) => refuse(path, `it is not JSON: ${(error as Error).message}`),
  })
  const { prices, problems } = readPrices(given, types)
  return problems.length === 0 ? prices : yield* refuse(path, problems.join("; "))
})
