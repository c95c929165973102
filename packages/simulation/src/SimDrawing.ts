/**
 * Random workflows for a simulation: chains, diamonds, fans, whatever else an edge can make of
 * them, and every policy that a node or a workflow can have.
 *
 * Guarantees: a start accepts them, wherever every type is known. Leaves out: what their handlers
 * do.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { InputPort } from "@millrace/core/domain/NodeType"
import type { Edge, Node, WorkflowSettings } from "@millrace/core/domain/Workflow"
import { settingsOf } from "@millrace/core/domain/Workflow"
import type { Dice } from "./ModelDice.ts"
import { flowing } from "./SimFlow.ts"
import { typeOf } from "./SimNodes.ts"

/** What is drawn. */
export interface Drawing {
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
  readonly settings: WorkflowSettings
}

const steps = ["step", "step", "step", "need", "need", "many", "all", "once", "hasty", "switch"]
const kinds = [...steps, "once", "rare"]

/** Types without effects. */
const computed = ["pure", "pure", "pure", "paid", "slow"]

const cases = ["one", "two"]

const nodeOf = (id: string, type: string, dice: Dice): Node => ({
  id,
  type,
  position: { x: dice.below(3), y: dice.below(3) },
  data: { inputs: type === "switch" ? { cases } : {} },
})

/** In stories with a secret, some nodes without a type of their own use it. */
const typeWith = (type: string, flow: Dice | undefined): string =>
  flow !== undefined && type === "step" && flow.chance(40) ? "use" : type

const inputsOf = (node: Node): ReadonlyArray<InputPort> =>
  [...typeOf(node.type).portsOf(settingsOf(node)).inputs.values()].filter(
    ({ name }) => !["fields", "name", "cases", "token"].includes(name),
  )

/** The names of a node's outputs. */
export const outputsOf = (node: Node): ReadonlyArray<string> => [
  ...typeOf(node.type).portsOf(settingsOf(node)).outputs.keys(),
]

const edgeOf = (source: Node, target: Node, dice: Dice, count: number): ReadonlyArray<Edge> => {
  const inputs = inputsOf(target)
  if (inputs.length === 0) return []
  const ports = outputsOf(source)
  const output = dice.chance(8) || ports.length === 0 ? "error" : dice.of(ports)
  const input = dice.of(inputs).name
  return [
    {
      id: `e${count}`,
      source: source.id,
      target: target.id,
      ...(output === "output" ? {} : { sourceHandle: output }),
      ...(input === "input" ? {} : { targetHandle: input }),
    },
  ]
}

/** Which nodes are joined, as pairs of places. */
const shapeOf = (count: number, dice: Dice): ReadonlyArray<readonly [number, number]> => {
  const all = Array.from({ length: count }, (_, index) => index)
  const pairs: Array<readonly [number, number]> = []
  switch (dice.of(["chain", "fan", "diamond", "dense", "sparse"])) {
    case "chain":
      for (const index of all.slice(1)) pairs.push([index - 1, index])
      break
    case "fan":
      for (const index of all.slice(1, -1)) pairs.push([0, index], [index, count - 1])
      break
    case "diamond":
      for (let top = 0; top + 3 < count; top += 3) {
        pairs.push([top, top + 1], [top, top + 2], [top + 1, top + 3], [top + 2, top + 3])
      }
      break
    case "dense":
      for (const to of all) for (let from = 0; from < to; from++) pairs.push([from, to])
      return pairs.filter(() => dice.chance(35))
    default:
  }
  for (const to of all.slice(1)) if (dice.chance(25)) pairs.push([dice.below(to), to])
  return pairs
}

const retryOf = (dice: Dice): JsonObject => ({
  attempts: 1 + dice.below(4),
  initial: dice.of([0, 10, 300, 1_100, 3_000]),
  factor: dice.of([1, 2, 3]),
  max: dice.of([500, 5_000, 60_000]),
  jitter: dice.of([0, 0.1, 0.5]),
})

const valueOf = (port: InputPort, dice: Dice): Json => {
  if (port.multiple) return dice.of<Json>([[], ["given"]])
  return dice.of<Json>(["given", 7, null])
}

/** What a node needs to be accepted, and what it happens to say besides. */
const finish = (node: Node, edges: ReadonlyArray<Edge>, dice: Dice): Node => {
  const wired = new Set(
    edges.filter(({ target }) => target === node.id).map((edge) => edge.targetHandle ?? "input"),
  )
  const isolated = edges.every(({ source, target }) => source !== node.id && target !== node.id)
  const literals: Record<string, Json> = { ...settingsOf(node).inputs }
  const disabled = dice.chance(7)
  for (const port of inputsOf(node)) {
    const isMissing = port.required && !wired.has(port.name) && !disabled
    if (isMissing ? !isolated || dice.chance(50) : dice.chance(20)) {
      literals[port.name] = valueOf(port, dice)
    }
  }
  const ports = outputsOf(node)
  const data: Record<string, Json> = { inputs: literals }
  if (disabled) data["disabled"] = true
  if (dice.chance(40)) data["retry"] = retryOf(dice)
  if (dice.chance(25)) data["timeout"] = dice.of([40, 100, 900, 3_000])
  if (dice.chance(15)) {
    data["onError"] = dice.of(["fail", "route", "default"])
    if (data["onError"] === "default") {
      data["default"] = ports.includes("output") ? { output: "instead" } : {}
    }
  }
  return { ...node, data }
}

/** A request node before everything, and response nodes behind it. */
const frameOf = (nodes: ReadonlyArray<Node>, edges: Array<Edge>, dice: Dice): Array<Node> => {
  const framed = [...nodes]
  if (dice.chance(40)) {
    const fields = [{ name: "run" }, { name: "extra", default: "as ever" }]
    const ask: Node = {
      id: "ask",
      type: "request",
      position: { x: 0, y: 0 },
      data: { inputs: dice.chance(60) ? { fields } : {} },
    }
    for (const node of nodes) {
      if (dice.chance(40)) edges.push(...edgeOf(ask, node, dice, edges.length))
    }
    framed.push(ask)
  }
  const answers = dice.of([0, 1, 1, 2])
  for (let index = 0; index < answers; index++) {
    const literals: JsonObject = dice.chance(50) ? { name: "result" } : {}
    const answer: Node = {
      id: `answer${index}`,
      type: "response",
      position: { x: 9, y: index },
      data: { inputs: literals },
    }
    edges.push(...edgeOf(dice.of(nodes), answer, dice, edges.length))
    framed.push(answer)
  }
  return framed
}

const settingsFor = (dice: Dice): WorkflowSettings => ({
  ...(dice.chance(45) ? { onFailure: dice.of(["stop", "abort", "continue"]) } : {}),
  ...(dice.chance(15) ? { timeoutMillis: dice.of([500, 2_000, 6_000, 20_000]) } : {}),
})

/** A workflow of a few nodes; with `flow`, some have expressions and secrets. */
export const drawingOf = (dice: Dice, flow?: Dice): Drawing => {
  const count = 1 + dice.below(8)
  const share = dice.of([0, 40, 40, 75, 75, 100])
  const nodes = Array.from({ length: count }, (_, at) =>
    nodeOf(`n${at}`, typeWith(dice.of(dice.chance(share) ? computed : kinds), flow), dice),
  )
  const edges: Array<Edge> = []
  for (const [from, to] of shapeOf(count, dice)) {
    edges.push(...edgeOf(nodes[from]!, nodes[to]!, dice, edges.length))
  }
  const framed = frameOf(nodes, edges, dice)
  const finished = framed.map((node) =>
    typeOf(node.type).role === "step" ? finish(node, edges, dice) : node,
  )
  const flowed = flow === undefined ? finished : finished.map((node) => flowing(node, edges, flow))
  const order = dice.some(flowed, flowed.length)
  return { nodes: order, edges: dice.some(edges, edges.length), settings: settingsFor(dice) }
}

/** A workflow without one of its nodes. */
export const without = (drawing: Drawing, id: string): Drawing => ({
  ...drawing,
  nodes: drawing.nodes.filter((node) => node.id !== id),
  edges: drawing.edges.filter(({ source, target }) => source !== id && target !== id),
})
