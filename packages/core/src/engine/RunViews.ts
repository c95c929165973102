/**
 * What viewers of a run are shown that no row holds: the input of a node that executes, and the
 * ports of the nodes of its graph.
 *
 * Guarantees: the run is only read. Leaves out: expressions, which are not computed for a viewer.
 */
import { Context, Effect, Layer, Option, Result } from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { PlacedValue } from "../domain/LargeValue.ts"
import { liveRow, withoutLarge } from "../domain/LargeValue.ts"
import type { Ports } from "../domain/NodeType.ts"
import { withError } from "../domain/NodeType.ts"
import type { NodeRun, Run, RunRecord } from "../domain/Run.ts"
import { nodeRunsOf } from "../domain/Run.ts"
import { inputsOf } from "../graph/internal/Bindings.ts"
import { Frontier } from "../graph/internal/Frontier.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { GraphCache } from "./GraphCache.ts"
import { LargeValues } from "./LargeValues.ts"
import { NodeNotFound, RunNotFound } from "./Refusals.ts"

/** A run, and one of its nodes. */
export interface NodeView {
  readonly run: Run
  readonly nodeRun: NodeRun
}

/** The ports of a node. */
export interface NodePorts {
  readonly nodeId: string
  /** After its mode and its literals, with the port `error` from which every node may be left. */
  readonly ports: Ports
}

export class RunViews extends Context.Service<
  RunViews,
  {
    /**
     * One node of a run, with its large values if they have at most `mostBytes` together. A node
     * that executes or waits has the input that edges, overrides and literals imply; a port whose
     * literal has expressions is left out, and `null` stands where the graph cannot be read any
     * more.
     */
    readonly node: (
      account: AccountId,
      runId: RunId,
      nodeId: string,
      mostBytes: number,
    ) => Effect.Effect<NodeView, RunNotFound | NodeNotFound | StorageError>
    /** The ports of the nodes of a run, in order; without nodes of types that are unknown now. */
    readonly ports: (record: RunRecord) => ReadonlyArray<NodePorts>
  }
>()("@millrace/core/engine/RunViews") {
  static readonly layer: Layer.Layer<RunViews, never, RunStore | GraphCache | LargeValues> =
    Layer.effect(
      RunViews,
      Effect.suspend(() => make),
    )
}

/** What a node is given as far as it is known without expressions. */
const inputOf = (
  { compile }: GraphCache["Service"],
  { definition, nodeRuns, run }: RunRecord,
  nodeId: string,
): JsonObject | null => {
  const compiled = compile(definition, run.inputOverrides)
  if (Result.isFailure(compiled)) return null
  const graph = compiled.success
  const frontier = Frontier.restore(graph, nodeRuns.map(liveRow))
  return Result.getOrElse(inputsOf(graph, frontier, graph.indexOf.get(nodeId)!), () => null)
}

const isBegun = ({ status }: NodeRun) => status === "RUNNING" || status === "WAITING"

/** The node run with the input that is implied, as a row: large values are named beside it. */
const withInput = (nodeRun: NodeRun, input: JsonObject | null): NodeRun => {
  if (input === null) return nodeRun
  const placed: Array<PlacedValue> = [...(nodeRun.largeValues ?? [])]
  const own = withoutLarge(input, "/input", placed)
  return { ...nodeRun, input: own, largeValues: placed.length === 0 ? null : placed }
}

const make = Effect.gen(function* () {
  const runs = yield* RunStore
  const graphs = yield* GraphCache
  const values = yield* LargeValues

  return RunViews.of({
    node: Effect.fn("RunViews.node")(function* (account, runId, nodeId, mostBytes) {
      const found = yield* runs.find(account, runId)
      if (Option.isNone(found)) return yield* new RunNotFound({ runId })
      const record = found.value
      const stored = nodeRunsOf(record).find((each) => each.nodeId === nodeId)
      if (stored === undefined) return yield* new NodeNotFound({ runId, nodeId })
      const isOpen = isBegun(stored) && stored.input === null
      const nodeRun = isOpen ? withInput(stored, inputOf(graphs, record, nodeId)) : stored
      // Without what else the run holds, so that the bound is for this node.
      const alone = {
        ...record,
        run: { ...record.run, values: {}, output: null, largeValues: null },
        nodeRuns: [nodeRun],
      }
      const [whole] = yield* values.withValues([alone], mostBytes)
      return { run: record.run, nodeRun: whole!.nodeRuns[0]! }
    }),
    ports: ({ definition, run }) =>
      graphs
        .read(definition, run.inputOverrides)
        .plans.flatMap((plan) =>
          plan === undefined
            ? []
            : [{ nodeId: plan.node.id, ports: withError(plan.ports, plan.type) }],
        ),
  })
})
