/**
 * Random workflows that a start accepts, and how their nodes would end.
 *
 * Guarantees: the same seed gives the same workflow; every rule of the graph comes up often.
 */
import { Schema } from "effect"
import type { Json, JsonObject } from "../../src/domain/Json.ts"
import type { NodeType } from "../../src/domain/NodeType.ts"
import type { Edge, Node } from "../../src/domain/Workflow.ts"
import { known, types } from "./Fixture.ts"
import type { Outcome, World } from "./Reference.ts"

const Word = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))

/**
 * Seeds for a property. Two words, because generated integers favour small ones: one word repeats
 * itself, and every fifth workflow would be one that was tried already.
 */
export const seeds = { seed: Word, salt: Word }

/** A source of choices, made from a seed. */
export class Choice {
  #state: number

  constructor({ salt, seed }: { readonly seed: number; readonly salt: number }) {
    this.#state = (seed ^ Math.imul(salt, 0x9e3779b1)) | 0
  }

  /** A fraction from 0 up to, not including, 1 (mulberry32). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  below(limit: number): number {
    return Math.floor(this.fraction() * limit)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  of<A>(items: ReadonlyArray<A>): A {
    return items[this.below(items.length)]!
  }

  shuffled<A>(items: ReadonlyArray<A>): Array<A> {
    const result = [...items]
    for (let at = result.length - 1; at > 0; at--) {
      const other = this.below(at + 1)
      const item = result[at]!
      result[at] = result[other]!
      result[other] = item
    }
    return result
  }
}

const noSettings = {
  inputs: {},
  mode: undefined,
  version: undefined,
  label: undefined,
  disabled: false,
}

const outputsOf = (type: NodeType) => [...type.portsOf(noSettings).outputs.keys()]
const inputsOf = (type: NodeType) => [...type.portsOf(noSettings).inputs.values()]

/** Types with two inputs count double: they have the rules that are rarely met. */
const drawable = types
  .filter(({ role }) => role === "step")
  .flatMap((type) => (inputsOf(type).length > 1 ? [type, type] : [type]))

/** A workflow of 1 to 12 nodes. */
export const randomWorld = (choice: Choice): World => {
  const drawn = Array.from({ length: 1 + choice.below(12) }, (_, at) => ({
    id: `n${at}`,
    type: choice.of(drawable),
  }))
  const density = choice.fraction() * 0.5
  const edges: Array<Edge> = []
  for (const [at, target] of drawn.entries()) {
    for (const source of drawn.slice(0, at)) {
      while (choice.chance(density)) edges.push(...randomEdge(choice, source, target, edges.length))
    }
  }
  const shuffledEdges = choice.shuffled(edges)
  const overrides: Record<string, JsonObject> = {}
  const nodes = choice.shuffled(drawn).map(({ id, type }) => {
    const node = randomNode(choice, id, type, shuffledEdges)
    if (choice.chance(0.2)) overrides[id] = randomInputs(choice, type, 0.4)
    return node
  })
  const outcomes = new Map(drawn.map(({ id, type }) => [id, randomOutcome(choice, id, type)]))
  return { nodes, edges: shuffledEdges, known, overrides, outcomes }
}

interface Drawn {
  readonly id: string
  readonly type: NodeType
}

const randomEdge = (
  choice: Choice,
  source: Drawn,
  target: Drawn,
  count: number,
): ReadonlyArray<Edge> => {
  const inputs = inputsOf(target.type)
  if (inputs.length === 0) return []
  const output = choice.chance(0.1) ? "error" : choice.of([...outputsOf(source.type), "error"])
  const input = choice.of(inputs).name
  return [
    {
      id: `e${count}`,
      source: source.id,
      target: target.id,
      ...handle(choice, "sourceHandle", output, "output"),
      ...handle(choice, "targetHandle", input, "input"),
    },
  ]
}

/** A default port is sometimes left out, sometimes empty and sometimes written out. */
const handle = (choice: Choice, key: string, port: string, fallback: string) => {
  if (port !== fallback || choice.chance(0.4)) return { [key]: port }
  return choice.chance(0.5) ? { [key]: "" } : {}
}

const randomNode = (
  choice: Choice,
  id: string,
  type: NodeType,
  edges: ReadonlyArray<Edge>,
): Node => {
  const disabled = choice.chance(0.15)
  const isolated = edges.every(({ source, target }) => source !== id && target !== id)
  const required = inputsOf(type).filter((port) => port.required)
  const wired = new Set(
    edges.filter(({ target }) => target === id).map(({ targetHandle }) => targetHandle || "input"),
  )
  const mustHave = isolated || disabled ? [] : required.filter(({ name }) => !wired.has(name))
  const inputs = {
    ...randomInputs(choice, type, 0.3),
    ...Object.fromEntries(mustHave.map(({ multiple, name }) => [name, multiple ? [] : "given"])),
  }
  const position = { x: choice.below(3) * 10, y: choice.below(3) * 10 }
  return { id, type: type.key, position, data: disabled ? { disabled, inputs } : { inputs } }
}

const randomInputs = (choice: Choice, type: NodeType, probability: number): JsonObject =>
  Object.fromEntries(
    inputsOf(type)
      .filter(() => choice.chance(probability))
      .map((port) => [port.name, randomValue(choice, port)]),
  )

const randomValue = (
  choice: Choice,
  port: { readonly multiple: boolean; readonly check: (value: Json) => ReadonlyArray<string> },
): Json =>
  choice.of<Json>([null, 7, "text", [1, 2]].filter((value) => port.check(value).length === 0))

const randomOutcome = (choice: Choice, id: string, type: NodeType): Outcome => {
  if (choice.chance(0.12)) return { status: "FAILED", output: choice.of([null, { output: 1 }]) }
  if (choice.chance(0.04)) return { status: "CANCELED", output: null }
  const taken = [...outputsOf(type), "error"].filter((port) =>
    choice.chance(port === "error" ? 0.1 : 0.7),
  )
  const output = taken.map((port) => [port, choice.chance(0.2) ? null : `${id}.${port}`])
  return { status: "COMPLETED", output: Object.fromEntries(output) }
}
