/**
 * Declares a node type with a plain function, whose types follow from the schemas of the ports.
 *
 * Guarantees: a handler gets validated inputs only. What it returns is validated. An error that it
 * throws fails its node and nothing else. Leaves out: timeouts, retries and cancellation, which the
 * engine does for all node types.
 */
import type { Executable } from "@millrace/core/engine/NodeTypes"
import type { NodeOptions } from "./Declaration.ts"
import { executableOf } from "./internal/Handler.ts"
import type { EngineThreads } from "@millrace/host/Threads"
import type { PortSchemas } from "./Port.ts"

/** A node type, to pass to `createEngine`. */
export interface NodeType<
  T extends string = string,
  I extends PortSchemas = PortSchemas,
  O extends PortSchemas = PortSchemas,
  M extends string = string,
  R extends string = string,
  X extends string = string,
> {
  /** The name by which the nodes of drawings have this type. */
  readonly type: T
  /** The schema of each input. */
  readonly inputs: I
  /** The schema of each output. */
  readonly outputs: O
  /** The modes from which a drawing chooses; the first one is the default. */
  readonly modes: ReadonlyArray<M>
  /** Inputs whose texts the handler gets as they are drawn. */
  readonly raw: ReadonlyArray<R>
  /** Inputs to which several edges may lead. */
  readonly multiple: ReadonlyArray<X>
  /** The form in which the engine executes it. */
  readonly executable: Executable<EngineThreads>
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
  const R extends keyof I & string = never,
  const X extends keyof I & string = never,
>(
  options: NodeOptions<T, I, O, M, R, X>,
): NodeType<T, I, O, M, R, X> => ({
  type: options.type,
  inputs: options.inputs,
  outputs: options.outputs,
  modes: options.modes ?? [],
  raw: options.raw ?? [],
  multiple: options.multiple ?? [],
  executable: executableOf(options),
})
