/**
 * What the editor lets users draw at the borders of loops is what a start accepts, and what it
 * refuses there is refused: random drawings are judged by both.
 */
import { testEngine } from "millrace/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { applied } from "../../../../src/model/editing/Change.ts"
import { duplicated } from "../../../../src/model/editing/Clipboard.ts"
import { changeOf } from "../../../../src/model/editing/Command.ts"
import type { LinkEnd, PortsOfNode } from "../../../../src/model/editing/Connecting.ts"
import {
  canConnect,
  edgeBetween,
  loopsIn,
  portsIn,
} from "../../../../src/model/editing/Connecting.ts"
import type {
  DocumentNode,
  DocumentValue,
  WorkflowDocument,
} from "../../../../src/model/editing/Document.ts"
import { moveNodes } from "../../../../src/model/editing/internal/LoopMoves.ts"
import { placesOn } from "../../../../src/model/editing/internal/Parents.ts"
import { mergeDocuments } from "../../../../src/model/editing/Merging.ts"
import { Choice, emptyDocument } from "../RandomEditing.ts"

let engine: Awaited<ReturnType<typeof testEngine>>
let workflowId = ""
/** The ports of each type, as the server tells them. */
const portsByType = new Map<string, ReturnType<PortsOfNode>>()

const node = (id: string, type: string, inputs: DocumentValue): DocumentNode => ({
  id,
  type,
  position: { x: 0, y: 0 },
  data: { inputs: inputs },
})

const loop = (id: string) => node(id, "for_each", { items: [1] })
const until = { path: "done", op: "equals", value: true }

const start: WorkflowDocument = {
  ...emptyDocument,
  nodes: [
    node("a", "constant", { value: 1 }),
    loop("each"),
    loop("rows"),
    node("again", "while", { until }),
    node("b", "constant", { value: 2 }),
    node("c", "constant", { value: 3 }),
    node("d", "constant", { value: 4 }),
  ],
}

const validated = ({ edges, nodes }: Pick<WorkflowDocument, "edges" | "nodes">) =>
  engine.workflows.validate(workflowId, { nodes: nodes, edges: edges })

/** What is wrong with how a drawing is nested and joined; a loop may still lack a body. */
const faultsOf = async (document: WorkflowDocument) =>
  (await validated(document)).problems
    .map(({ message }) => message)
    .filter((message) => /^Edge|cycle|parentId|loops|leaves/.test(message))
    // `input` is for expressions, of which there are none.
    .filter((message) => !/their parentId names it|has no input "input"/.test(message))

const portsOfAll = ({ nodes }: WorkflowDocument): PortsOfNode => {
  const types = new Map(nodes.map(({ id, type }) => [id, type]))
  return (nodeId) => portsByType.get(types.get(nodeId) ?? "")
}

beforeAll(async () => {
  engine = await testEngine({})
  workflowId = (await engine.workflows.create(engine.workflow("Loops"))).id
  const { nodes } = await validated(start)
  const told = portsIn(start, [], { nodes: nodes })
  for (const { id, type } of start.nodes) portsByType.set(type, told(id))
})
afterAll(() => engine.close())

const randomEnds = (choice: Choice, document: WorkflowDocument): [LinkEnd, LinkEnd] => {
  const portsOf = portsOfAll(document)
  const [from, to] = [choice.of(document.nodes).id, choice.of(document.nodes).id]
  const { bodyPorts = [], outputPorts = [] } = portsOf(from) ?? {}
  const { inputPorts = [] } = portsOf(to) ?? {}
  const [outputs, inputs] = [[...outputPorts, ...bodyPorts], inputPorts]
  return [
    { nodeId: from, port: choice.of(outputs).name },
    { nodeId: to, port: choice.chance(0.5) ? "input" : choice.of(inputs).name },
  ]
}

const withEdge = (document: WorkflowDocument, ends: readonly [LinkEnd, LinkEnd]) => ({
  ...document,
  edges: [...document.edges, edgeBetween(document, ...ends)],
})

const moved = (choice: Choice, document: WorkflowDocument): WorkflowDocument => {
  const portsOf = portsOfAll(document)
  const loops = document.nodes.filter(({ id }) => loopsIn(document, portsOf).isLoop(id))
  const placeOf = placesOn(document.nodes)
  const loopId = choice.chance(0.3) || loops.length === 0 ? undefined : choice.of(loops).id
  const ids = choice.some(document.nodes, 0.3).map(({ id }) => id)
  const moves = new Map(ids.map((id) => [id, { place: placeOf(id), loopId }]))
  const found = moveNodes(document, portsOf, moves)
  return "reason" in found ? document : applied(document, changeOf(document, found.command))
}

const joined = (choice: Choice, document: WorkflowDocument): WorkflowDocument => {
  const ends = randomEnds(choice, document)
  return canConnect(document, portsOfAll(document), ...ends).ok
    ? withEdge(document, ends)
    : document
}

const removed = (choice: Choice, document: WorkflowDocument): WorkflowDocument => {
  const nodeIds = [choice.of(document.nodes).id]
  const next = applied(document, changeOf(document, { type: "remove", nodeIds, edgeIds: [] }))
  return next.nodes.length < 3 ? document : next
}

const copied = (choice: Choice, document: WorkflowDocument): WorkflowDocument => {
  if (document.nodes.length > 14) return document
  const nodeIds = new Set([choice.of(document.nodes).id])
  const added = duplicated(document, { nodeIds })
  return applied(document, changeOf(document, { type: "add", ...added }))
}

const steps = [moved, moved, joined, joined, joined, removed, copied]

/** A document after random steps, of which some are undone. */
const edited = (choice: Choice, from: WorkflowDocument, count: number): WorkflowDocument => {
  const history = [from]
  for (let at = 0; at < count; at++) {
    if (history.length > 1 && choice.chance(0.15)) history.pop()
    else history.push(choice.of(steps)(choice, history.at(-1)!))
  }
  return history.at(-1)!
}

const seeds = Array.from({ length: 150 }, (_, seed) => seed)

describe("Loops of the editor", () => {
  it("have no fault that a start refuses, after any moves, joins and copies", async () => {
    for (const seed of seeds) {
      const document = edited(new Choice(seed), start, 25)
      expect([seed, await faultsOf(document)]).toEqual([seed, []])
    }
  })

  it("refuse at their borders no edge that a start would accept", async () => {
    const asked = new Set<string>()
    for (const seed of seeds) {
      const choice = new Choice(seed)
      const document = edited(choice, start, 20)
      const ends = randomEnds(choice, document)
      const judged = canConnect(document, portsOfAll(document), ...ends)
      const reason = judged.ok ? "ok" : judged.refusal.reason
      if (!["leaves", "innerOnly", "outerOnly", "cycle"].includes(reason)) continue
      asked.add(reason)
      expect([seed, await faultsOf(withEdge(document, ends))]).not.toEqual([seed, []])
    }
    expect([...asked].toSorted()).toEqual(["cycle", "innerOnly", "leaves", "outerOnly"])
  })

  it("hold nothing that is gone, whatever two people do to one drawing", async () => {
    for (const seed of seeds) {
      const choice = new Choice(seed)
      const base = edited(choice, start, 10)
      const { merged } = mergeDocuments(base, edited(choice, base, 5), edited(choice, base, 5))
      const nesting = (await faultsOf(merged)).filter((message) => /parentId/.test(message))
      expect([seed, nesting]).toEqual([seed, []])
    }
  })

  it("leave a node where it is that one has put into them, when the other removes them", () => {
    const base = {
      ...start,
      nodes: start.nodes.map((each) =>
        each.id === "each" ? { ...each, position: { x: 300, y: 200 } } : each,
      ),
    }
    const place = { x: 320, y: 400 }
    const found = moveNodes(base, portsOfAll(base), new Map([["a", { place, loopId: "each" }]]))
    if ("reason" in found) throw new Error(found.reason)
    const mine = applied(base, changeOf(base, found.command))
    expect(mine.nodes[0]).toMatchObject({ parentId: "each", position: { x: 20, y: 200 } })
    const gone = { type: "remove", nodeIds: ["each"], edgeIds: [] } as const
    const theirs = applied(base, changeOf(base, gone))
    for (const { conflicts, merged } of [
      mergeDocuments(base, mine, theirs),
      mergeDocuments(base, theirs, mine),
    ]) {
      expect(conflicts).toEqual([])
      const left = merged.nodes.find(({ id }) => id === "a")!
      expect([left.position, Object.hasOwn(left, "parentId")]).toEqual([place, false])
    }
  })
})
