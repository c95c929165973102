/**
 * What must hold of a rerun as it is started, worked out a second time from the text of the rules:
 * which nodes it executes, and which outputs it takes over from which run.
 *
 * Leaves out: what becomes of it, which the rules for every run say. They know what was taken over
 * as outputs that its start gave: not executed, without a price and without an event.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import type { RunId } from "@millrace/core/domain/Id"
import type { PinnedOutputs, RunRecord } from "@millrace/core/domain/Run"
import { isPinned, rerunIdOf } from "@millrace/core/domain/Run"
import type { Node } from "@millrace/core/domain/Workflow"
import type { RerunAction } from "./SimActions.ts"
import type { Drawing } from "./SimDrawing.ts"
import { typeOf } from "./SimNodes.ts"
import type { Bench, Turned, Watched } from "./SimWatched.ts"
import { isSaid, isSame, rowsOf, shown } from "./SimWatched.ts"

/** The graph that a rerun is to execute, or executes. */
type Graph = Pick<Drawing, "nodes" | "edges">

/** The data of a node without its version: each type has one here, which only runs write down. */
const drawnData = ({ data }: Node): JsonObject => {
  const { version: _, ...drawn } = data as JsonObject
  return drawn
}

/** What handlers can see of a node. */
const contentOf = (node: Node) => {
  const { label: _, ...rest } = drawnData(node)
  return { type: node.type, rest }
}

const edgesInto = ({ edges }: Graph, id: string) =>
  edges
    .filter(({ target }) => target === id)
    .map(({ source, sourceHandle, targetHandle }) => [
      source,
      sourceHandle ?? "output",
      targetHandle ?? "input",
    ])

/** What a rerun does not take over: what is new, changed, unfinished or asked for, and the rest. */
const movedOf = (
  earlier: RunRecord,
  graph: Graph,
  { from, pinned }: Pick<RerunAction, "from" | "pinned">,
): ReadonlySet<string> => {
  const rows = rowsOf(earlier)
  const isMoved = (node: Node): boolean => {
    const { id } = node
    const known = earlier.definition.nodes.find((each) => each.id === id)
    const status = rows.get(id)?.status
    return (
      from.includes(id) ||
      Object.keys(pinned).includes(id) ||
      known === undefined ||
      !isSaid(contentOf(known), contentOf(node)) ||
      !isSame(edgesInto(earlier.definition, id), edgesInto(graph, id)) ||
      (status !== "COMPLETED" && status !== "SKIPPED")
    )
  }
  const moved = new Set(graph.nodes.filter(isMoved).map(({ id }) => id))
  // A set that grows while it is gone through: what is added is looked at, too.
  for (const id of moved) {
    for (const { source, target } of graph.edges) if (source === id) moved.add(target)
  }
  return moved
}

/** True where nothing would be executed anew, so that a rerun is refused. */
export const isIdle = (
  earlier: RunRecord,
  graph: Graph,
  action: Pick<RerunAction, "from" | "pinned" | "replaced">,
): boolean => {
  const nodes = graph.nodes.map((node) => action.replaced.find(({ id }) => id === node.id) ?? node)
  const moved = movedOf(earlier, { ...graph, nodes }, action)
  return [...moved].every((id) => Object.keys(action.pinned).includes(id))
}

/** What the start of a run gives in the place of nodes: for a rerun, also what it takes over. */
export const givenOf = (
  bench: Bench,
  after: RunRecord,
  runs: ReadonlyMap<RunId, Watched>,
): PinnedOutputs => {
  const { keyId, rerunOf, values } = after.run
  if (rerunOf === null) return bench.pinned.get(values["run"]) ?? {}
  const earlier = runs.get(rerunOf)?.record
  const action = bench.reruns.get(keyId)
  if (earlier === undefined || action === undefined) return {}
  const moved = movedOf(earlier, after.definition, action)
  const taken = earlier.nodeRuns.filter(
    ({ nodeId, nodeType, status }) =>
      status === "COMPLETED" && typeOf(nodeType).role === "step" && !moved.has(nodeId),
  )
  const outputs = taken.map(({ nodeId, output }) => [nodeId, output ?? {}] as const)
  return { ...Object.fromEntries(outputs), ...action.pinned }
}

/** The run that has executed a node of this run, or that was given its output. */
const originOf = (
  { reruns }: Bench,
  { record }: Watched,
  nodeId: string,
  runs: ReadonlyMap<RunId, Watched>,
): RunId => {
  const { id, keyId, rerunOf } = record.run
  const row = rowsOf(record).get(nodeId)
  const isTakenOver = row !== undefined && isPinned(row) && rerunOf !== null
  if (!isTakenOver || reruns.get(keyId)?.pinned[nodeId] !== undefined) return id
  return originOf({ reruns } as Bench, runs.get(rerunOf)!, nodeId, runs)
}

/** Judges the first commit of a rerun, given all other runs. */
export const checkRerun = (
  bench: Bench,
  { after, watched }: Turned,
  runs: ReadonlyMap<RunId, Watched>,
): void => {
  const { definition, run } = after
  const report = (rule: string, what: string) => bench.report(rule, `${run.id}: ${what}`)
  const earlier = run.rerunOf === null ? undefined : runs.get(run.rerunOf)
  const action = bench.reruns.get(run.keyId)
  if (earlier === undefined || action === undefined) {
    return report("a rerun is of a run, and was asked for", shown(run))
  }
  const { record } = earlier
  if (record.run.finishedAt === null)
    report("a rerun is of a run that has ended", shown(record.run))
  if (isIdle(record, definition, action)) report("a rerun executes something", shown(action))
  for (const key of ["accountId", "workflowId", "values", "inputOverrides", "viewport"] as const) {
    if (!isSaid(run[key], record.run[key])) report("a rerun has what its run had", key)
  }
  const replaced = (nodes: ReadonlyArray<Node>) =>
    nodes.map((node) => action.replaced.find(({ id }) => id === node.id) ?? node)
  const isOfBefore = run.workflowRevision === record.run.workflowRevision
  const { edges, nodes } =
    action.definition === "same" ? record.definition : bench.editions.drawingOf(run)
  const byId = (all: ReadonlyArray<Node>) =>
    Object.fromEntries(all.map((node) => [node.id, drawnData(node)]))
  const isDrawn = isSaid(byId(definition.nodes), byId(replaced(nodes)))
  const isJoined = isSaid([...definition.edges].map(idOf).toSorted(), edges.map(idOf).toSorted())
  if (action.definition === "same" ? !isOfBefore : !bench.editions.isTimely(after)) {
    report("a rerun is of the revision that it asks for", `r${run.workflowRevision}`)
  }
  if (!isDrawn || !isJoined || !bench.editions.isFaithful(after)) {
    report("a rerun has the graph that it asks for", shown(definition))
  }
  if (action.isBatch && run.id !== rerunIdOf(record.run.id)) {
    report("a batch starts the first rerun of a run", record.run.id)
  }
  for (const [nodeId, row] of rowsOf(after)) {
    if (!isPinned(row) || action.pinned[nodeId] !== undefined) continue
    const said = (row.logs?.[0]?.data as { readonly runId?: string } | undefined)?.runId
    const origin = originOf(bench, earlier, nodeId, runs)
    if (said !== origin) report("what is taken over says from where", `${nodeId}: ${said}`)
  }
  if (watched.record.run.mode !== "rerun") report("a rerun says that it is one", run.mode)
}

const idOf = ({ id }: { readonly id: string }): string => id

/** Once all is over: each request has started one rerun, of a batch one of each run. */
export const checkReruns = (
  { isSkewed, report, reruns, slackMillis }: Bench,
  runs: ReadonlyMap<RunId, Watched>,
): void => {
  for (const action of reruns.values()) {
    const all = Array.from(runs.values(), ({ record }) => record.run)
    const own = all.filter(({ keyId }) => keyId === action.keyId)
    const first = Math.min(...own.map(({ createdAt }) => createdAt))
    const what = `${action.keyId}: ${own.map(idOf).join(", ")}`
    if (!action.isBatch && own.length > 1) report("a request starts one rerun", what)
    for (const { rerunOf } of action.isBatch && action.isNamed && !isSkewed ? own : []) {
      const { finishedAt, status } = runs.get(rerunOf!)!.record.run
      const isRight = status === "FAILED" && finishedAt! <= first + slackMillis
      if (!isRight) report("a batch starts again what had failed at its first start", what)
    }
  }
}
