/**
 * The function that opens an engine.
 *
 * Guarantees: the engine is loaded when the function is called first, so a program that only
 * declares node types starts quickly. Leaves out: the engine itself.
 */
import type { Engine } from "./Engine.ts"
import type { EngineOptions } from "./EngineOptions.ts"
import type { NodeType } from "./Node.ts"

/**
 * Opens an engine. Rejects with one sentence if it cannot start: the store does not open, two node
 * types have the same `type`, or an option is unknown or invalid.
 *
 * ```ts
 * await using engine = await createEngine({ store: pglite("./data"), nodes: [shout] })
 * ```
 */
export const createEngine = async <const N extends ReadonlyArray<NodeType> = readonly []>(
  options: EngineOptions<N> = {},
): Promise<Engine<N>> => {
  const { openEngine } = await import("./Engine.ts")
  return await openEngine(options)
}
