/**
 * Inputs of nodes that need not be stored, because they follow from what else is stored of a run:
 * its definition, its input overrides, and the outputs of its nodes.
 *
 * Guarantees: pure; a restored input equals the one that the node was given, also in the order of
 * its ports, whatever node types the process knows. Leaves out: which inputs are implied;
 * `CommitBuilder` decides that.
 */
import type { Json, JsonObject } from "./Json.ts"
import { defaultInput, defaultOutput } from "./NodeType.ts"
import type { NodeRun, RunRecord } from "./Run.ts"
import type { Edge } from "./Workflow.ts"
import { settingsOf } from "./Workflow.ts"

/**
 * The ports of an input that have a value, in order. `["name"]` is a port that takes several
 * values.
 */
export type InputPorts = ReadonlyArray<string | readonly [string]>

/** The own property of this name; `undefined` if there is none. */
const own = <A>(values: { readonly [key: string]: A } | undefined, name: string): A | undefined =>
  values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined

/** A node run; if it has `ports`, its input was left out and has to be restored. */
export type NodeRunByPorts = NodeRun & { readonly ports?: InputPorts | undefined }

/** A record with some of its inputs replaced by their ports. */
interface RecordByPorts extends Omit<RunRecord, "nodeRuns"> {
  readonly nodeRuns: ReadonlyArray<NodeRunByPorts>
}

/** The outputs of nodes that have completed, and of skipped ones that passed a value on. */
const outputsOf = ({ nodeRuns }: RecordByPorts): ReadonlyMap<string, JsonObject> => {
  const outputs = new Map<string, JsonObject>()
  for (const { nodeId, output, status } of nodeRuns) {
    const isPassedOn = status === "COMPLETED" || status === "SKIPPED"
    if (isPassedOn && output !== null) outputs.set(nodeId, output)
  }
  return outputs
}

/** The edges of each target node, in the order of the definition. */
const edgesInto = (edges: ReadonlyArray<Edge>): ReadonlyMap<string, ReadonlyArray<Edge>> => {
  const into = new Map<string, Array<Edge>>()
  for (const edge of edges) {
    const known = into.get(edge.target)
    if (known === undefined) into.set(edge.target, [edge])
    else known.push(edge)
  }
  return into
}

/**
 * The record with all of its inputs: those of node runs with `ports` are restored, without their
 * ports. Time and space are linear in nodes and edges, for nodes of few ports; values are
 * shared, not copied.
 */
export const withInputs = (record: RecordByPorts): RunRecord => {
  const { definition, nodeRuns, run } = record
  if (nodeRuns.every(({ ports }) => ports === undefined)) return record
  const outputs = outputsOf(record)
  const into = edgesInto(definition.edges)
  /** The values that edges bring to a port. */
  const arrivals = (nodeId: string, name: string): ReadonlyArray<Json> => {
    const values: Array<Json> = []
    for (const { source, sourceHandle, targetHandle } of into.get(nodeId) ?? []) {
      if ((targetHandle || defaultInput) !== name) continue
      const value = own(outputs.get(source), sourceHandle || defaultOutput)
      if (value !== undefined) values.push(value)
    }
    return values
  }
  const valueOf = ({ nodeId, ordinal }: NodeRun, name: string, isMultiple: boolean): Json => {
    const override = own(own(run.inputOverrides, nodeId), name)
    if (override !== undefined) return override
    const values = arrivals(nodeId, name)
    if (values.length > 0) return isMultiple ? values : values[0]!
    return own(settingsOf(definition.nodes[ordinal]!).inputs, name)!
  }
  const restored = nodeRuns.map(({ ports, ...row }): NodeRun => {
    if (ports === undefined) return row
    const entries = ports.map((port): readonly [string, Json] =>
      typeof port === "string"
        ? [port, valueOf(row, port, false)]
        : [port[0], valueOf(row, port[0], true)],
    )
    return { ...row, input: Object.fromEntries(entries) }
  })
  return { ...record, nodeRuns: restored }
}
