/**
 * The graph rules once more, as slow and as close to their text as possible: recursive definitions
 * over nodes and edges as drawn. The real rules are compared with these; they share nothing.
 *
 * Leaves out: sentences. It says what happens, not why.
 */
import type { Json, JsonObject } from "../../src/domain/Json.ts"
import type { InputPort, NodeTypesByKey, Ports } from "../../src/domain/NodeType.ts"
import type { InputOverrides, NodeRunStatus } from "../../src/domain/Run.ts"
import type { Edge, Node } from "../../src/domain/Workflow.ts"
import { settingsOf } from "../../src/domain/Workflow.ts"

/** How a node would end if it executed. */
export interface Outcome {
  readonly status: NodeRunStatus
  readonly output: JsonObject | null
}

export interface World {
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
  readonly known: NodeTypesByKey
  readonly overrides: InputOverrides
  readonly outcomes: ReadonlyMap<string, Outcome>
}

/** What becomes of a node, and how it ends. `inputs` is `"conflict"` when they cannot be bound. */
export interface Fate extends Outcome {
  readonly decision: "Run" | "Skip" | "Pass"
  readonly inputs: JsonObject | "conflict" | null
}

type State = "DEAD" | { readonly value: Json }

export class Reference {
  readonly world: World
  readonly #fates = new Map<string, Fate>()

  constructor(world: World) {
    this.world = world
  }

  /** "PENDING node is decided once none of its in-edges is UNKNOWN", so: after its sources. */
  fateOf(id: string): Fate {
    const known = this.#fates.get(id)
    if (known !== undefined) return known
    const fate = this.#decide(this.#node(id))
    this.#fates.set(id, fate)
    return fate
  }

  #decide(node: Node): Fate {
    const skipped: Fate = { decision: "Skip", inputs: null, status: "SKIPPED", output: null }
    if (!this.#executes(node)) return skipped
    const inputs = this.#inputs(node)
    if (settingsOf(node).disabled) {
      const wire = this.#wire(node)
      if (wire === null || inputs === "conflict" || !has(inputs, wire[0])) return skipped
      const output = Object.fromEntries([[wire[1], inputs[wire[0]]!]])
      return { decision: "Pass", inputs: null, status: "SKIPPED", output }
    }
    if (inputs === "conflict") return { decision: "Run", inputs, status: "FAILED", output: null }
    return { decision: "Run", inputs, ...this.world.outcomes.get(node.id)! }
  }

  #executes(node: Node): boolean {
    const ins = this.#edgesInto(node)
    const states = ins.map((edge) => this.#stateOf(edge))
    if (ins.length === 0) return !this.#isLeftover(node)
    if (states.every((state) => state === "DEAD")) return false
    const joinsAll = this.world.known.get(node.type)!.join === "all"
    if (joinsAll && states.some((state) => state === "DEAD")) return false
    return this.#inputPorts(node).every((port) => {
      const here = states.filter((_, at) => inputOf(ins[at]!) === port.name)
      const lost = here.length > 0 && here.every((state) => state === "DEAD")
      return !(port.required && lost && !has(this.#overridesOf(node), port.name))
    })
  }

  #isLeftover(node: Node): boolean {
    const { edges } = this.world
    const touched = edges.some(({ source, target }) => source === node.id || target === node.id)
    if (touched || settingsOf(node).disabled) return false
    return this.#inputPorts(node).some(
      ({ name, required }) =>
        required && !has(settingsOf(node).inputs, name) && !has(this.#overridesOf(node), name),
    )
  }

  #stateOf(edge: Edge): State {
    const { output, status } = this.fateOf(edge.source)
    if (status !== "COMPLETED" && status !== "SKIPPED") return "DEAD"
    const port = edge.sourceHandle ? edge.sourceHandle : "output"
    return output !== null && has(output, port) ? { value: output[port]! } : "DEAD"
  }

  #inputs(node: Node): JsonObject | "conflict" {
    const bound: Array<[string, Json]> = []
    for (const { multiple, name } of this.#inputPorts(node)) {
      const live = this.#edgesInto(node)
        .filter((edge) => inputOf(edge) === name)
        .map((edge) => this.#stateOf(edge))
        .filter((state) => state !== "DEAD")
        .map(({ value }) => value)
      const literals = settingsOf(node).inputs
      const overrides = this.#overridesOf(node)
      if (has(overrides, name)) bound.push([name, overrides[name]!])
      else if (live.length > 0 && multiple) bound.push([name, live])
      else if (live.length > 1) return "conflict"
      else if (live.length === 1) bound.push([name, live[0]!])
      else if (has(literals, name)) bound.push([name, literals[name]!])
    }
    return Object.fromEntries(bound)
  }

  #wire(node: Node): readonly [string, string] | null {
    if (this.world.known.get(node.type)!.role === "request") return null
    const ins = this.#inputPorts(node).map(({ name }) => name)
    const outs = [...this.#ports(node).outputs.keys()].filter((name) => name !== "error")
    if (ins.includes("input") && outs.includes("output")) return ["input", "output"]
    if (ins.length === 1 && outs.length === 1) return [ins[0]!, outs[0]!]
    for (const name of ins) if (outs.includes(name)) return [name, name]
    return null
  }

  #edgesInto(node: Node): ReadonlyArray<Edge> {
    return this.world.edges.filter(({ target }) => target === node.id)
  }

  #node(id: string): Node {
    return this.world.nodes.find((node) => node.id === id)!
  }

  #ports(node: Node): Ports {
    return this.world.known.get(node.type)!.portsOf(settingsOf(node))
  }

  #inputPorts(node: Node): ReadonlyArray<InputPort> {
    return [...this.#ports(node).inputs.values()]
  }

  #overridesOf(node: Node): JsonObject {
    return has(this.world.overrides, node.id) ? this.world.overrides[node.id]! : {}
  }

  /** Length of the longest path that ends at a node. */
  depthOf(id: string): number {
    const sources = this.world.edges.filter(({ target }) => target === id)
    return Math.max(0, ...sources.map(({ source }) => this.depthOf(source) + 1))
  }
}

const has = (object: object, key: string): boolean => Object.keys(object).includes(key)

const inputOf = (edge: Edge): string => (edge.targetHandle ? edge.targetHandle : "input")

/** True for every pair of node ids that a path of at least one edge joins. */
export const reachable = (
  ids: ReadonlyArray<string>,
  joins: ReadonlyArray<readonly [string, string]>,
): ((from: string, to: string) => boolean) => {
  const pairs = new Set(joins.map(([from, to]) => `${from} ${to}`))
  for (const via of ids) {
    for (const from of ids) {
      for (const to of ids) {
        if (pairs.has(`${from} ${via}`) && pairs.has(`${via} ${to}`)) pairs.add(`${from} ${to}`)
      }
    }
  }
  return (from, to) => pairs.has(`${from} ${to}`)
}
