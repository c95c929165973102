/**
 * Compiled graphs, kept by definition. So a hundred runs of one revision compile its graph once.
 *
 * Guarantees: a graph is immutable, so runs can share it. The number of kept graphs is bounded. If
 * the node types are replaced, graphs are compiled again.
 * Leaves out: graphs with overrides; they belong to one run and are not kept.
 */
import { Context, Effect, Layer, Result } from "effect"
import { freeze } from "../domain/Json.ts"
import { graphsCached } from "../domain/Limits.ts"
import type { Definition, InputOverrides } from "../domain/Run.ts"
import { isEvaluated, isShared } from "../domain/Run.ts"
import type { Graph, Reading } from "../graph/Graph.ts"
import { compile, readDrawing } from "../graph/Graph.ts"
import type { Drawing } from "../graph/internal/Draft.ts"
import type { Problem } from "../graph/internal/Problem.ts"
import { BoundedMap } from "./BoundedMap.ts"
import { NodeTypes } from "./NodeTypes.ts"

/** A graph that can be executed, or all problems that prevent it. */
export type Compiled = Result.Result<Graph, ReadonlyArray<Problem>>

export class GraphCache extends Context.Service<
  GraphCache,
  {
    /** Compiles a definition; two definitions with one identifier must have the same content. */
    readonly compile: (definition: Definition, overrides: InputOverrides) => Compiled
    /** Reads a drawing as a new start would, also one that has problems. */
    readonly read: (drawing: Drawing, overrides: InputOverrides) => Reading
  }
>()("@millrace/core/engine/GraphCache") {
  static readonly layer: Layer.Layer<GraphCache, never, NodeTypes> = Layer.effect(
    GraphCache,
    Effect.map(NodeTypes, ({ all }) => {
      const shareable = (definition: Definition, overrides: InputOverrides): Compiled => {
        const { body } = definition.settings
        const given = body === undefined ? undefined : new Set(body.given)
        const compiled = compile(definition, all(), overrides, isEvaluated(definition), given)
        // Handlers get these values. Frozen, one run cannot change what the next one gets.
        if (Result.isSuccess(compiled)) {
          for (const { settings } of compiled.success.nodes) freeze(settings.inputs)
        }
        return compiled
      }
      const kept = new BoundedMap<string, Compiled>(graphsCached)
      let types = all()
      return GraphCache.of({
        read: (drawing, overrides) =>
          readDrawing(drawing, { types: all(), overrides, evaluates: true }),
        compile: (definition, overrides) => {
          const isKept = isShared(definition) && Object.keys(overrides).length === 0
          if (!isKept) return shareable(definition, overrides)
          if (types !== all()) {
            types = all()
            kept.clear()
          }
          const { id } = definition
          const compiled = kept.get(id) ?? shareable(definition, overrides)
          kept.set(id, compiled)
          return compiled
        },
      })
    }),
  )
}
