/**
 * Small workflows about time, drawn from a seed: nodes that are tried again, delays, time limits,
 * failures that are handled or not, and joins.
 *
 * Leaves out: what must come of them; that is in `TrialRules`.
 */
import type { Dice } from "./Dice.ts"
import type { Act } from "./Trial.ts"

/** A node of a drawing. */
export interface TrialNode {
  readonly id: string
  readonly type: "trial" | "once" | "delay"
  readonly acts: ReadonlyArray<Act>
  /** How long its handler takes; of a delay, how long that is. */
  readonly millis: number
  readonly attempts: number
  /** The wait after its first failure, and how far that may be off. */
  readonly initial: number
  readonly jitter: number
  readonly timeout: number | undefined
  readonly onError: "fail" | "route" | "default"
}

/** A wire between two nodes. */
export interface TrialEdge {
  readonly source: string
  readonly port: "output" | "error"
  readonly target: string
}

/** A workflow. */
export interface TrialDrawing {
  readonly name: string
  readonly nodes: ReadonlyArray<TrialNode>
  readonly edges: ReadonlyArray<TrialEdge>
  readonly onFailure: "continue" | "stop" | "abort"
  readonly timeoutMillis: number | undefined
}

const someActs: ReadonlyArray<Act> = ["ok", "ok", "fail", "fail", "fail", "later", "hang", "deaf"]

const actsOf = (dice: Dice): ReadonlyArray<Act> => {
  const plan = Array.from({ length: dice.below(4) }, () => dice.pick(someActs))
  return [...plan, dice.pick<Act>(["ok", "ok", "ok", "ok", "ok", "fail", "final"])]
}

/** Often too short for a run to be parked, and often not. */
const waitOf = (dice: Dice): number => dice.pick([20, 100, 400, 1_200]) + dice.below(600)

const nodeOf = (index: number, dice: Dice): TrialNode => {
  const id = `t${index}`
  const wait = waitOf(dice)
  const plain = { id, acts: [], attempts: 1, initial: 0, jitter: 0, timeout: undefined } as const
  if (dice.next() < 0.25) {
    return { ...plain, type: "delay", millis: 200 + dice.below(1_800), onError: "fail" }
  }
  const acts = actsOf(dice)
  const needsLimit = acts.includes("hang") || acts.includes("deaf")
  return {
    id,
    type: dice.next() < 0.2 ? "once" : "trial",
    acts,
    millis: dice.below(400),
    attempts: 1 + dice.below(4),
    initial: wait,
    jitter: dice.pick([0, 0.1, 0.5]),
    timeout: needsLimit ? 1_500 : undefined,
    onError: dice.pick(["fail", "route", "default"] as const),
  }
}

const edgesTo = (nodes: ReadonlyArray<TrialNode>, index: number, dice: Dice) => {
  const target = nodes[index]!
  // A delay has an input that takes one value.
  const wanted = index === 0 ? 0 : target.type === "delay" ? 1 : 1 + dice.below(3)
  const sources = new Set(
    Array.from({ length: wanted }, () => Math.max(0, index - 1 - dice.below(4))),
  )
  return [...sources].map((each): TrialEdge => {
    const source = nodes[each]!
    const port = source.onError === "route" && dice.next() < 0.3 ? "error" : "output"
    return { source: source.id, port, target: target.id }
  })
}

/** Draws a workflow. */
export const drawTrial = (name: string, dice: Dice): TrialDrawing => {
  const nodes = Array.from({ length: 3 + dice.below(6) }, (_, index) => nodeOf(index, dice))
  return {
    name,
    nodes,
    edges: nodes.flatMap((_, index) => edgesTo(nodes, index, dice)),
    onFailure: dice.pick([
      "continue",
      "continue",
      "continue",
      "continue",
      "stop",
      "abort",
    ] as const),
    timeoutMillis: dice.next() < 0.1 ? 2_000 + dice.below(3_000) : undefined,
  }
}

const dataOf = (node: TrialNode): object => {
  if (node.type === "delay") return { inputs: { for: node.millis } }
  const { acts, attempts, initial, jitter, millis, onError, timeout } = node
  return {
    inputs: { acts, millis },
    retry: { attempts, initial, jitter },
    onError,
    ...(timeout === undefined ? {} : { timeout }),
    ...(onError === "default" ? { default: { output: 0 } } : {}),
  }
}

/** The body of the request that stores a drawing. */
export const bodyOf = ({ edges, name, nodes, onFailure, timeoutMillis }: TrialDrawing): object => ({
  name,
  nodes: nodes.map((node, index) => ({
    id: node.id,
    type: node.type,
    position: { x: index * 300, y: 0 },
    data: dataOf(node),
  })),
  edges: edges.map(({ port, source, target }) => ({
    id: `${source}-${target}`,
    source,
    sourceHandle: port,
    target,
    targetHandle: nodes.find(({ id }) => id === target)?.type === "delay" ? "input" : "inputs",
  })),
  settings: { onFailure, ...(timeoutMillis === undefined ? {} : { timeoutMillis }) },
})
