/**
 * The node types that this process can execute, by key. A type may have several versions.
 *
 * Guarantees: the type of {@link NodeTypes.layer} has the services that handlers require, so a
 * missing service is a compile error, not a failed run. If the types are replaced, a run goes on
 * with those that its graph was compiled with. Leaves out: supervising handlers; `RunExecution`
 * does that.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import type { JsonObject } from "../domain/Json.ts"
import { type NodeType, type NodeTypesByKey, versionsOf } from "../domain/NodeType.ts"
import type { NodeSettings } from "../domain/Workflow.ts"
import type { CurrentNode, NodeError } from "./CurrentNode.ts"
import { nodeLogger } from "./internal/NodeLog.ts"

/**
 * The property that marks what `NodeDefinition.define` and `defineNode` return, of any copy of
 * these packages. Its value is the {@link form}.
 */
export const mark = "~millrace/NodeType"

/** The form of the node types of this version. It rises if an engine must not call older ones. */
export const form = 1

/**
 * A node type and its handler, as the engine executes it: from JSON to JSON. `run` decodes the
 * inputs, calls the handler and encodes its result. A port that is absent from the result was not
 * taken. The engine calls `run` once for each attempt, and `run` calls the handler at once. If the
 * handler has then ended, `run` returns an `Exit`, and there is nothing left to run. The returned
 * effect finds `node` in its context, too.
 */
export interface Executable<R = never> {
  readonly [mark]?: number
  readonly type: NodeType
  readonly run: (
    inputs: JsonObject,
    settings: NodeSettings,
    node: CurrentNode["Service"],
  ) => Effect.Effect<JsonObject, NodeError, R | CurrentNode>
}

/** The same node type, with where it comes from. */
export const withOrigin =
  (origin: string) =>
  <E extends Executable<unknown>>(executable: E): E => ({
    ...executable,
    type: { ...executable.type, origin },
  })

/** The services that the handlers of these types require besides the current node. */
export type Requirements<T extends ReadonlyArray<Executable<unknown>>> = T[number] extends infer E
  ? E extends Executable<infer R>
    ? Exclude<R, CurrentNode>
    : never
  : never

/** Node types that can be replaced while an engine runs. Mutable. */
export class NodeTypeSet<E extends Executable<unknown>> {
  #types: NodeTypesByKey = new Map()
  #byName: ReadonlyMap<string, Executable<unknown>> = new Map()
  /** Runs that go on with a replaced type still find its handler here. */
  readonly #executables = new WeakMap<NodeType, Executable<unknown>>()

  constructor(executables: ReadonlyArray<E>) {
    this.replace(executables)
  }

  /** Another map after each replacement. */
  get types(): NodeTypesByKey {
    return this.#types
  }

  /** The executable of a type that is, or was, in this set; else the one of its key and version. */
  readonly executable = (type: NodeType): Executable<unknown> =>
    this.#executables.get(type) ?? this.#byName.get(nameOf(type))!

  /**
   * Replaces the types, for graphs that are compiled from now on. Two types with one key and
   * version are a defect, and so are two with one key that are of different origins.
   */
  replace(executables: ReadonlyArray<E>): void {
    const byName = new Map<string, Executable<unknown>>()
    const origins = new Map<string, string | undefined>()
    for (const executable of executables) {
      const { key, origin } = executable.type
      const name = nameOf(executable.type)
      const isOther = origins.has(key) && origins.get(key) !== origin
      if (byName.has(name) || isOther) {
        throw new Error(`Two node types have the key ${isOther ? `"${key}"` : name}`)
      }
      byName.set(name, executable)
      origins.set(key, origin)
    }
    this.#byName = byName
    this.#types = oldestOf(executables.map(({ type }) => type))
    for (const oldest of this.#types.values()) {
      for (const type of versionsOf(oldest)) {
        this.#executables.set(type, byName.get(nameOf(type))!)
      }
    }
  }
}

const nameOf = ({ key, version }: NodeType): string => `"${key}" and the version ${version}`

/** The oldest version of each type, with the others beside it; keys in the order of these types. */
const oldestOf = (types: ReadonlyArray<NodeType>): NodeTypesByKey => {
  const byKey = Map.groupBy(types, ({ key }) => key)
  const oldest = [...byKey].map(([key, versions]) => {
    const [first, ...newer] = versions.toSorted((a, b) => a.version - b.version)
    return [key, newer.length === 0 ? first! : { ...first!, newer }] as const
  })
  return new Map(oldest)
}

export class NodeTypes extends Context.Service<
  NodeTypes,
  {
    /** Another map when the types were replaced. */
    readonly all: () => NodeTypesByKey
    /** The executable of a type that `all` had, also if the type was replaced since. */
    readonly executable: (type: NodeType) => Executable<unknown>
    /** The context of handlers, without their {@link CurrentNode}. */
    readonly context: Context.Context<unknown>
  }
>()("@millrace/core/engine/NodeTypes") {
  /**
   * Registers node types. Their handlers run in the context in which this layer is built. Two types
   * with the same key are a defect, unless they are versions of one origin.
   */
  static readonly layer = <const T extends ReadonlyArray<Executable<unknown>>>(
    ...types: T
  ): Layer.Layer<NodeTypes, never, Requirements<T>> =>
    Layer.unwrap(Effect.sync(() => NodeTypes.layerOf(new NodeTypeSet<T[number]>(types))))

  /** Registers node types that can be replaced later. */
  static readonly layerOf = <E extends Executable<unknown>>(
    set: NodeTypeSet<E>,
  ): Layer.Layer<NodeTypes, never, Requirements<ReadonlyArray<E>>> =>
    Layer.effect(
      NodeTypes,
      Effect.map(Effect.context<Requirements<ReadonlyArray<E>>>(), (context) =>
        NodeTypes.of({
          all: () => set.types,
          executable: set.executable,
          // What a handler logs goes to the log of its node, not to that of the process.
          context: Context.add(
            context,
            References.CurrentLoggers,
            new Set([nodeLogger]),
          ) as Context.Context<unknown>,
        }),
      ),
    )
}
