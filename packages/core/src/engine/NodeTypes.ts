/**
 * The node types that this process can execute, by key.
 *
 * Guarantees: the type of {@link NodeTypes.layer} has the services that handlers require, so a
 * missing service is a compile error, not a failed run. Leaves out: supervising handlers;
 * `RunExecution` does that.
 */
import { Context, Effect, Layer, References } from "effect"
import type { JsonObject } from "../domain/Json.ts"
import type { NodeType, NodeTypeLookup } from "../domain/NodeType.ts"
import type { NodeSettings } from "../domain/Workflow.ts"
import type { CurrentNode, NodeError } from "./CurrentNode.ts"
import { nodeLogger } from "./internal/NodeLog.ts"

/**
 * A node type and its handler, as the engine executes it: from JSON to JSON. `run` decodes the
 * inputs, calls the handler and encodes its result. A port that is absent from the result was not
 * taken. The engine calls `run` once for each attempt, and `run` calls the handler at once. If the
 * handler has then ended, `run` returns an `Exit`, and there is nothing left to run. The returned
 * effect finds `node` in its context, too.
 */
export interface Executable<R = never> {
  readonly type: NodeType
  readonly run: (
    inputs: JsonObject,
    settings: NodeSettings,
    node: CurrentNode["Service"],
  ) => Effect.Effect<JsonObject, NodeError, R | CurrentNode>
}

/** The services that the handlers of these types require besides the current node. */
export type Requirements<T extends ReadonlyArray<Executable<unknown>>> = T[number] extends infer E
  ? E extends Executable<infer R>
    ? Exclude<R, CurrentNode>
    : never
  : never

export class NodeTypes extends Context.Service<
  NodeTypes,
  {
    /** In the order of registration. */
    readonly all: ReadonlyArray<NodeType>
    readonly lookup: NodeTypeLookup
    /** The executable of a key; `undefined` when this process does not know it. */
    readonly executable: (key: string) => Executable<unknown> | undefined
    /** The context of handlers, without their {@link CurrentNode}. */
    readonly context: Context.Context<unknown>
  }
>()("@millrace/core/engine/NodeTypes") {
  /**
   * Registers node types. Their handlers run in the context in which this layer is built. Two types
   * with the same key are a defect.
   */
  static readonly layer = <const T extends ReadonlyArray<Executable<unknown>>>(
    ...types: T
  ): Layer.Layer<NodeTypes, never, Requirements<T>> =>
    Layer.effect(
      NodeTypes,
      Effect.map(Effect.context<Requirements<T>>(), (context) =>
        NodeTypes.of(registry(types, context)),
      ),
    )
}

const registry = <R>(
  types: ReadonlyArray<Executable<unknown>>,
  outer: Context.Context<R>,
): NodeTypes["Service"] => {
  const byKey = new Map<string, Executable<unknown>>()
  for (const executable of types) {
    const { key } = executable.type
    if (byKey.has(key)) throw new Error(`Two node types have the key "${key}"`)
    byKey.set(key, executable)
  }
  return {
    all: types.map((each) => each.type),
    lookup: (key) => byKey.get(key)?.type,
    executable: (key) => byKey.get(key),
    // What a handler logs goes to the log of its node, not to that of the process.
    context: Context.add(
      outer,
      References.CurrentLoggers,
      new Set([nodeLogger]),
    ) as Context.Context<unknown>,
  }
}
