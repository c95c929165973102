/**
 * What must hold of a run as it is started. What becomes of it is for the other rules.
 */
import type { RunId } from "@millrace/core/domain/Id"
import type { Json } from "@millrace/core/domain/Json"
import { isPinned } from "@millrace/core/domain/Run"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { checkRerun } from "./SimRerunRules.ts"
import type { Bench, Turned, Watched } from "./SimWatched.ts"
import { isSame, shown } from "./SimWatched.ts"

/** Everything that a node of a workflow has ever put out. */
const outputsOf = (runs: Iterable<Watched>, workflowId: string): ReadonlyArray<Json> =>
  Array.from(runs)
    .filter(({ record }) => record.run.workflowId === workflowId)
    .flatMap(({ record }) => record.nodeRuns)
    .filter((row) => row.status === "COMPLETED" && !isPinned(row))
    .flatMap(({ output }) => Object.values(output ?? {}))

/** A node that runs alone has its literals, and for the rest what earlier runs have put out. */
const checkSingle = ({ report }: Bench, { after }: Turned, runs: Iterable<Watched>): void => {
  const { id, inputOverrides, singleNodeId, workflowId } = after.run
  const [node, ...others] = after.definition.nodes
  if (node?.id !== singleNodeId || others.length > 0 || after.definition.edges.length > 0) {
    report("a node that runs alone is alone", id)
    return
  }
  const { inputs } = settingsOf(node)
  const known = outputsOf(runs, workflowId).map((value) => JSON.stringify(value))
  for (const [name, value] of Object.entries(inputOverrides[node.id] ?? {})) {
    const isLiteral = Object.hasOwn(inputs, name)
    const values = Array.isArray(value) ? value : [value]
    const isRight = isLiteral
      ? isSame(value, inputs[name])
      : values.every((each) => known.includes(JSON.stringify(each)))
    if (!isRight) report("a node that runs alone has its inputs", `${id} ${name}: ${shown(value)}`)
  }
}

/** A run is of the workflow as it was when the start was asked for, or as it was edited since. */
const checkEdition = ({ editions, report }: Bench, { after }: Turned): void => {
  const { id, workflowName, workflowRevision } = after.run
  const what = `${id} is of r${workflowRevision}, ${workflowName}`
  if (!editions.isTimely(after)) report("no start is of an older workflow", what)
  if (!editions.isFaithful(after)) report("a run is what its revision says", what)
}

/** Nodes whose outputs the start gives have completed from the first commit on. */
const checkPins = ({ report }: Bench, { after, watched }: Turned): void => {
  const pinned = Object.keys(watched.reference.pinned).toSorted()
  const found = after.nodeRuns.filter(isPinned).map(({ nodeId }) => nodeId)
  if (!isSame(found.toSorted(), pinned)) {
    report("a start pins what it was asked to", `${after.run.id}: ${shown(found)}`)
  }
}

/** Judges the first commit of a run, given all the others. */
export const checkStart = (
  bench: Bench,
  turned: Turned,
  runs: ReadonlyMap<RunId, Watched>,
): void => {
  if (turned.before.run.revision !== 0) return
  const { mode, rerunOf } = turned.after.run
  if (rerunOf === null) checkEdition(bench, turned)
  else checkRerun(bench, turned, runs)
  checkPins(bench, turned)
  if (mode === "single") checkSingle(bench, turned, runs.values())
}
