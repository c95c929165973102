/**
 * Declaring a node type with a plain function: schemas in, types out, a promise or a value back.
 *
 * Guarantees: a handler sees validated inputs only, what it returns is validated before it leaves,
 * and whatever it throws fails its node and nothing else. Leaves out: supervising it; the engine
 * does that for node types of every origin alike.
 */
import type { Executable } from "@millrace/core/engine/NodeTypes"
import type { NodeOptions } from "./Declaration.ts"
import { executableOf } from "./internal/Handler.ts"
import type { PortSchemas } from "./Port.ts"

/** A node type, to be handed to `createEngine`. */
export interface NodeType<
  T extends string = string,
  I extends PortSchemas = PortSchemas,
  O extends PortSchemas = PortSchemas,
  M extends string = string,
> {
  readonly type: T
  readonly inputs: I
  readonly outputs: O
  readonly modes: ReadonlyArray<M>
  /** The form in which the engine executes it. */
  readonly executable: Executable
}

/**
 * Declares a node type. Nothing needs an annotation: `run` is typed by the schemas of the ports.
 *
 * ```ts
 * const shout = defineNode({
 *   type: "text.shout",
 *   inputs: { text: z.string() },
 *   outputs: { loud: z.string() },
 *   run: ({ inputs }) => ({ loud: inputs.text.toUpperCase() }),
 * })
 * ```
 */
export const defineNode = <
  const T extends string,
  I extends PortSchemas,
  O extends PortSchemas,
  const M extends string = "",
>(
  options: NodeOptions<T, I, O, M>,
): NodeType<T, I, O, M> => ({
  type: options.type,
  inputs: options.inputs,
  outputs: options.outputs,
  modes: options.modes ?? [],
  executable: executableOf(options),
})
