/**
 * Work whose every execution is written down outside of the database, and whose result can be
 * worked out by hand: a node takes a while, then puts out one more than the sum of its inputs.
 */
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { appendFileSync, readFileSync } from "node:fs"
import type { Dice } from "./Dice.ts"

/** Inputs of a node, decoded. */
interface Work {
  readonly inputs?: ReadonlyArray<number>
  readonly millis: number
}

/** What one execution of a node costs, in credits. */
export const workCredits = 0.25

/** The node type. Every attempt that begins becomes a line of the journal. */
export const work = (journal: string) =>
  define({
    key: "work",
    inputs: { inputs: Schema.optionalKey(Schema.Array(Schema.Finite)), millis: Schema.Finite },
    multiple: ["inputs"],
    outputs: { output: Schema.Finite },
    credits: workCredits,
    run: Effect.fnUntraced(function* ({ inputs = [], millis }: Work) {
      const { attempt, nodeId, runId } = yield* CurrentNode
      appendFileSync(journal, `${runId} ${nodeId} ${attempt} ${process.pid}\n`)
      yield* Effect.sleep(millis)
      return { output: inputs.reduce((sum, input) => sum + input, 1) }
    }),
  })

/** One attempt that began. */
export interface Attempt {
  readonly runId: string
  readonly nodeId: string
  readonly attempt: number
  readonly pid: number
}

/** Every attempt that began, in order. */
export const readJournal = (journal: string): ReadonlyArray<Attempt> =>
  readFileSync(journal, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [runId = "", nodeId = "", attempt, pid] = line.split(" ")
      return { runId, nodeId, attempt: Number(attempt), pid: Number(pid) }
    })

/** A workflow, and what its runs put out. */
export interface Drawing {
  readonly name: string
  readonly nodes: ReadonlyArray<object>
  readonly edges: ReadonlyArray<object>
  readonly nodeIds: ReadonlyArray<string>
  readonly output: number
}

const workNode = (index: number, millis: number) => ({
  id: `w${index}`,
  type: "work",
  position: { x: index * 300, y: 0 },
  data: { inputs: { millis } },
})

const edge = (source: string, sourceHandle: string, target: string, targetHandle: string) => ({
  id: `${source}-${target}`,
  source,
  sourceHandle,
  target,
  targetHandle,
})

/** The places before `index` that a node there waits for: one to three of the last four. */
const sourcesOf = (index: number, dice: Dice): ReadonlyArray<number> => {
  const wanted = Math.min(index, 1 + dice.below(3))
  const sources = new Set<number>()
  while (sources.size < wanted) sources.add(index - 1 - dice.below(Math.min(4, index)))
  return [...sources]
}

/** A node of a drawing: how long it takes, and the nodes before it that it waits for. */
interface Place {
  readonly millis: number
  readonly sources: ReadonlyArray<number>
}

/** Puts nodes and an answer after the last of them together. */
const assemble = (name: string, places: ReadonlyArray<Place>): Drawing => {
  const outputs: Array<number> = []
  for (const { sources } of places) {
    outputs.push(sources.reduce((sum, source) => sum + outputs[source]!, 1))
  }
  const answer = { id: "answer", type: "response", position: { x: places.length * 300, y: 0 } }
  const last = places.length - 1
  return {
    name,
    nodes: [...places.map(({ millis }, index) => workNode(index, millis)), { ...answer, data: {} }],
    edges: [
      ...places.flatMap(({ sources }, index) =>
        sources.map((source) => edge(`w${source}`, "output", `w${index}`, "inputs")),
      ),
      edge(`w${last}`, "output", "answer", "input"),
    ],
    nodeIds: [...places.map((_, index) => `w${index}`), "answer"],
    output: outputs[last]!,
  }
}

/** Draws a workflow of so many nodes, each of which takes up to so long; the last one answers. */
export const draw = (name: string, size: number, maxMillis: number, dice: Dice): Drawing =>
  assemble(
    name,
    Array.from({ length: size - 1 }, (_, index) => ({
      sources: sourcesOf(index, dice),
      millis: dice.below(maxMillis),
    })),
  )

/** Draws nodes in a line, each of which takes so long; the last one answers. */
export const line = (name: string, size: number, millis: number): Drawing =>
  assemble(
    name,
    Array.from({ length: size - 1 }, (_, index) => ({
      sources: index === 0 ? [] : [index - 1],
      millis,
    })),
  )

/**
 * Draws a node that computes without a pause, after one that leaves time to answer the start. Its
 * first attempt takes so long.
 */
export const computing = (name: string, millis: number): Drawing => ({
  name,
  nodes: [
    workNode(0, 500),
    { id: "busy", type: "compute", position: { x: 300, y: 0 }, data: { inputs: { millis } } },
  ],
  edges: [edge("w0", "output", "busy", "after")],
  nodeIds: ["w0", "busy"],
  output: 1,
})
