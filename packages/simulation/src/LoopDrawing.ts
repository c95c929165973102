/**
 * The workflows of a simulation of loops as somebody would draw them: bodies are nodes that name
 * their loop.
 *
 * Guarantees: in each level, a leaf works on the item, every step begins behind it, and the end
 * gathers what all of them put out.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import type { Level, LoopStep, LoopWorkflow } from "./LoopScenario.ts"
import { askedOf, type Content } from "./SimContents.ts"
import { workflowIdOf } from "./TreeScenario.ts"

interface Drawn {
  readonly nodes: Array<Node>
  readonly edges: Array<Edge>
  /** What a node says that calls a workflow, beside its id. */
  readonly asked: JsonObject
}

/** Where the item of a level comes from: a node, and its output. */
interface Source {
  readonly id: string
  readonly port: string
}

const connect = ({ edges }: Drawn, from: Source, to: Source): void => {
  const id = `${from.id}.${from.port}-${to.id}.${to.port}`
  const ports = { sourceHandle: from.port, targetHandle: to.port }
  edges.push({ id, source: from.id, target: to.id, ...ports })
}

/** Adds a node to the body of a loop, or to the workflow itself. */
const place = (
  { nodes }: Drawn,
  loop: string | undefined,
  id: string,
  type: string,
  inputs: JsonObject,
  policy: JsonObject = {},
): void => {
  const parent = loop === undefined ? {} : { parentId: loop }
  nodes.push({ id, type, position: { x: 0, y: 0 }, data: { inputs, ...policy }, ...parent })
}

/** The outputs of a step that its gathering node takes. */
const outputsOf = ({ _tag }: LoopStep): ReadonlyArray<string> =>
  _tag === "While"
    ? ["output", "iterations"]
    : _tag === "Call"
      ? ["output"]
      : ["results", "count", "failed", "errors"]

const until = { path: "done", op: "equals", value: true }

/** How a leaf is tried again. */
const again = { retry: { attempts: 2, initial: "1 second" } }

const drawStep = (drawn: Drawn, loop: string | undefined, level: Level, step: LoopStep): void => {
  const { id } = step
  const leaf = { id: `${level.prefix}leaf`, port: "item" }
  if (step._tag === "Call") {
    const called = { workflowId: workflowIdOf(step.workflow), ...drawn.asked }
    place(drawn, loop, id, "sub_workflow", called)
    connect(drawn, leaf, { id, port: "item" })
  } else if (step._tag === "While") {
    place(drawn, loop, id, "while", { until, maxIterations: step.mostIterations })
    connect(drawn, leaf, { id, port: "input" })
    place(drawn, id, `${id}_turn`, "turn", {})
    for (const port of ["last", "index"]) connect(drawn, { id, port }, { id: `${id}_turn`, port })
    drawLevel(drawn, id, step.body, { id: `${id}_turn`, port: "item" })
    for (const port of ["base", "item"]) {
      connect(drawn, { id: `${id}_turn`, port }, { id: `${id}_end`, port })
    }
  } else {
    const { batch, concurrency, count, onError } = step
    const which =
      step._tag === "EachRun" ? { workflowId: workflowIdOf(step.workflow), ...drawn.asked } : {}
    const size = batch === null ? {} : { batch }
    place(drawn, loop, `${id}_items`, "spread", { count })
    connect(drawn, leaf, { id: `${id}_items`, port: "item" })
    place(drawn, loop, id, "for_each", { concurrency, onError, ...which, ...size })
    connect(drawn, { id: `${id}_items`, port: "output" }, { id, port: "items" })
    if (step._tag === "Each") drawLevel(drawn, id, step.body, { id, port: "item" })
  }
  place(drawn, loop, `${id}_gather`, "gather", {})
  for (const port of outputsOf(step)) connect(drawn, { id, port }, { id: `${id}_gather`, port })
}

const drawLevel = (drawn: Drawn, loop: string | undefined, level: Level, item: Source): void => {
  const { hasResponse, isPure, prefix, steps } = level
  // What a loop gives its body needs no edge; any other node does.
  const byExpression = level.byExpression && item.id === loop
  const [leaf, end] = [`${prefix}leaf`, `${prefix}end`]
  const inputs = byExpression ? { item: `{{ ${item.id}.${item.port} }}` } : {}
  // Wherever a leaf is, it reads a node that is outside of all loops.
  place(drawn, loop, leaf, isPure ? "quick" : "leaf", { ...inputs, root: "{{ ask.item }}" }, again)
  if (!byExpression) connect(drawn, item, { id: leaf, port: "item" })
  if (loop === undefined) connect(drawn, item, { id: leaf, port: "root" })
  place(drawn, loop, end, "end", {})
  connect(drawn, { id: leaf, port: "output" }, { id: end, port: "parts" })
  for (const step of steps) {
    drawStep(drawn, loop, level, step)
    connect(drawn, { id: `${step.id}_gather`, port: "output" }, { id: end, port: "parts" })
  }
  if (!hasResponse) return
  place(drawn, loop, `${prefix}out`, "response", {})
  connect(drawn, { id: end, port: "output" }, { id: `${prefix}out`, port: "input" })
}

/** The drawing of a workflow. */
export const loopDrawingOf = ({ level, settings }: LoopWorkflow, content: Content) => {
  const version = askedOf(content)
  const asked = version === undefined ? {} : { workflowVersion: version }
  const drawn: Drawn = { nodes: [], edges: [], asked }
  place(drawn, undefined, "ask", "request", { fields: [{ name: "item" }] })
  drawLevel(drawn, undefined, level, { id: "ask", port: "item" })
  return { nodes: drawn.nodes, edges: drawn.edges, settings }
}
