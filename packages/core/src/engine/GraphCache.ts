/**
 * Compiled graphs, kept by definition, and what runs know of workflows. So a hundred runs of one
 * revision compile its graph once.
 *
 * Guarantees: a graph is immutable, so runs can share it. The number of kept graphs is bounded. If
 * the node types are replaced, graphs are compiled again.
 * Leaves out: graphs with overrides; they belong to one run and are not kept.
 */
import { Context, Effect, Layer, Result } from "effect"
import { freeze } from "../domain/Json.ts"
import type { NodeTypesByKey } from "../domain/NodeType.ts"
import { graphsCached } from "../domain/Limits.ts"
import type { CalledWorkflows, Definition, InputOverrides } from "../domain/Run.ts"
import { evaluatedId, isEvaluated, isShared } from "../domain/Run.ts"
import type { Edge, Node, Workflow } from "../domain/Workflow.ts"
import { bareEdges, bareNodes } from "../domain/Workflow.ts"
import type { Graph, Reading } from "../graph/Graph.ts"
import { compile, readDrawing } from "../graph/Graph.ts"
import type { Call, RerunCalls } from "../graph/internal/CalledWorkflows.ts"
import { problemsOfCycles } from "../graph/internal/CallCycles.ts"
import { asking, callsIn, rerunCallsOf } from "../graph/internal/CalledWorkflows.ts"
import type { Drawing } from "../graph/internal/Draft.ts"
import { versionsText, withVersions } from "../graph/internal/NodeVersions.ts"
import type { Problem } from "../graph/internal/Problem.ts"
import { BoundedMap } from "./BoundedMap.ts"
import { NodeTypes } from "./NodeTypes.ts"

/** A graph that can be executed, or all problems that prevent it. */
export type Compiled = Result.Result<Graph, ReadonlyArray<Problem>>

/** Nodes and edges as runs have them: without what editors have added, each node in its version. */
export interface FrozenDrawing {
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
  /** {@link versionsText} of the nodes. */
  readonly versions: string
}

export class GraphCache extends Context.Service<
  GraphCache,
  {
    /** Compiles a definition; two definitions with one identifier must have the same content. */
    readonly compile: (definition: Definition, overrides: InputOverrides) => Compiled
    /** Reads a drawing as a new start would, also one that has problems. */
    readonly read: (drawing: Drawing, overrides: InputOverrides) => Reading
    /** The nodes, each of a type that is not built in with the version that it has now. */
    readonly withVersions: (nodes: ReadonlyArray<Node>) => ReadonlyArray<Node>
    /** What a run knows of a workflow. Kept as long as the workflow is. */
    readonly frozen: (workflow: Workflow) => FrozenDrawing
    /** Which versions the nodes of a frozen drawing have, as a part of the id of a definition. */
    readonly versionsText: (nodes: ReadonlyArray<Node>) => string
    /** The workflows that nodes call by ids that are drawn. */
    readonly calls: (nodes: ReadonlyArray<Node>, overrides: InputOverrides) => ReadonlyArray<Call>
    /** What stands against a graph because the workflows call each other without an end. */
    readonly problemsOfCalls: (graph: Graph, workflows: CalledWorkflows) => ReadonlyArray<Problem>
    /** Those of these workflows that ask a person. */
    readonly asking: (workflows: CalledWorkflows) => ReadonlySet<string>
    /** Compares what nodes call with what they called in an earlier run. */
    readonly rerunCalls: (
      calls: ReadonlyArray<Call>,
      before: CalledWorkflows | undefined,
      now: CalledWorkflows,
    ) => RerunCalls
  }
>()("@millrace/core/engine/GraphCache") {
  /** A cache of its own. `all` gives another map when the types were replaced. */
  static readonly make = (all: () => NodeTypesByKey): GraphCache["Service"] => {
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
    let frozen = new WeakMap<Workflow, FrozenDrawing>()
    let types = all()
    const renew = () => {
      if (types === all()) return
      types = all()
      kept.clear()
      frozen = new WeakMap()
    }
    return GraphCache.of({
      read: (drawing, overrides) => {
        const { workflows } = drawing.settings ?? {}
        return readDrawing(drawing, { types: all(), overrides, evaluates: true, workflows })
      },
      frozen: (workflow) => {
        renew()
        const known = frozen.get(workflow)
        if (known !== undefined) return known
        const nodes = withVersions(bareNodes(workflow.nodes), types)
        const edges = bareEdges(workflow.edges)
        const drawing = { nodes, edges, versions: versionsText(nodes, types) }
        frozen.set(workflow, drawing)
        return drawing
      },
      withVersions: (nodes) => withVersions(nodes, all()),
      versionsText: (nodes) => versionsText(nodes, all()),
      calls: (nodes, overrides) => callsIn(nodes, overrides, all()),
      problemsOfCalls: (graph, workflows) =>
        problemsOfCycles(graph, workflows, all(), (id, { edges, nodes }) =>
          shareable({ id: evaluatedId(id), nodes, edges, settings: { workflows } }, {}),
        ),
      asking: (workflows) => asking(workflows, all()),
      rerunCalls: (calls, before, now) => rerunCallsOf(calls, before, now, all()),
      compile: (definition, overrides) => {
        const isKept = isShared(definition) && Object.keys(overrides).length === 0
        if (!isKept) return shareable(definition, overrides)
        renew()
        const { id } = definition
        const known = kept.get(id)
        if (known !== undefined) return known
        const compiled = shareable(definition, overrides)
        kept.set(id, compiled)
        return compiled
      },
    })
  }

  static readonly layer: Layer.Layer<GraphCache, never, NodeTypes> = Layer.effect(
    GraphCache,
    Effect.map(NodeTypes, ({ all }) => GraphCache.make(all)),
  )
}
