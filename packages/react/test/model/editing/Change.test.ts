/**
 * Every command can be taken back, whatever came before it.
 */
import { describe, expect, it } from "vitest"
import { applied, difference, inverse, isEmpty } from "../../../src/model/editing/Change.ts"
import { changeOf } from "../../../src/model/editing/Command.ts"
import { problemOfDocument } from "../../../src/model/editing/DocumentCheck.ts"
import { History, stepsKept } from "../../../src/model/editing/internal/History.ts"
import {
  Choice,
  documentWith,
  edge,
  emptyDocument,
  Marks,
  node,
  randomCommand,
  randomReplacement,
} from "./RandomEditing.ts"

const seeds = Array.from({ length: 500 }, (_, seed) => seed)

const someCommand = (choice: Choice, document: typeof emptyDocument, mark: string) =>
  choice.chance(0.1) ? randomReplacement(choice, document) : randomCommand(choice, document, mark)

describe("Change", () => {
  it("undoes any sequence of commands to the document before it, and redoes it", () => {
    for (const seed of seeds) {
      const choice = new Choice(seed)
      const marks = new Marks()
      const documents = [emptyDocument]
      const changes = []
      for (let step = 0; step < 40; step++) {
        const document = documents.at(-1)!
        const change = changeOf(document, someCommand(choice, document, marks.next()))
        changes.push(change)
        documents.push(applied(document, change))
      }
      let back = documents.at(-1)!
      for (const [at, change] of [...changes.entries()].toReversed()) {
        back = applied(back, inverse(change))
        expect(back, `seed ${seed}, step ${at} taken back`).toEqual(documents[at])
      }
      for (const [at, change] of changes.entries()) {
        back = applied(back, change)
        expect(back, `seed ${seed}, step ${at} done again`).toEqual(documents[at + 1])
      }
    }
  })

  it("leaves a document that can be stored, whatever the command", () => {
    for (const seed of seeds) {
      const choice = new Choice(seed)
      const marks = new Marks()
      let document = emptyDocument
      for (let step = 0; step < 40; step++) {
        document = applied(
          document,
          changeOf(document, someCommand(choice, document, marks.next())),
        )
        expect(problemOfDocument(document), `seed ${seed}, step ${step}`).toBeUndefined()
      }
    }
  })

  it("survives a round trip through JSON", () => {
    const document = documentWith("a", "b")
    const change = changeOf(document, { type: "remove", nodeIds: ["a"], edgeIds: [] })
    expect(applied(document, JSON.parse(JSON.stringify(change)) as typeof change).nodes).toEqual([
      node("b", { label: "b" }, 300),
    ])
  })

  it("leaves fields alone that somebody else has changed meanwhile", () => {
    const document = documentWith("a")
    const mine = changeOf(document, { type: "setData", nodeId: "a", key: "label", value: "mine" })
    const theirs = changeOf(document, { type: "setInput", nodeId: "a", port: "value", value: 1 })
    const both = applied(applied(document, mine), theirs)
    const undone = applied(both, inverse(mine))
    expect(undone.nodes[0]?.data).toEqual({ label: "a", inputs: { value: 1 } })
  })

  it("takes edges along whose node somebody else has removed meanwhile", () => {
    const document = { ...documentWith("a", "b"), edges: [edge("a", "b")] }
    const mine = changeOf(document, { type: "remove", nodeIds: [], edgeIds: ["a-b"] })
    const without = changeOf(document, { type: "remove", nodeIds: ["b"], edgeIds: [] })
    const undone = applied(applied(applied(document, mine), without), inverse(mine))
    expect([undone.nodes.length, undone.edges]).toEqual([1, []])
  })

  it("leaves out an edge that would close a circle with those of somebody else", () => {
    const document = documentWith("a", "b", "c")
    const mine = changeOf(document, { type: "connect", edge: edge("a", "b") })
    const theirs = changeOf(document, { type: "connect", edge: edge("b", "a") })
    expect(applied(applied(document, theirs), mine).edges).toEqual([edge("b", "a")])
    const joined = { ...document, edges: [edge("a", "c", "e"), edge("c", "b")] }
    const moved = changeOf(joined, { type: "reconnect", edgeId: "e", edge: edge("b", "a") })
    const both = applied(joined, changeOf(joined, { type: "connect", edge: edge("a", "b", "f") }))
    expect(applied(both, moved)).toEqual(both)
  })

  it("is empty for a command that changes nothing, and for one that is wrong", () => {
    const document = { ...documentWith("a", "b", "c"), edges: [edge("a", "b"), edge("b", "c")] }
    const nothing = [
      { type: "setData", nodeId: "a", key: "label", value: "a" },
      { type: "setData", nodeId: "a", key: "mode", value: undefined },
      { type: "setData", nodeId: "nobody", key: "label", value: "x" },
      { type: "setInput", nodeId: "a", port: "value", value: undefined },
      { type: "move", places: { a: { x: Number.NaN, y: 0 } } },
      { type: "move", places: { b: { x: 300, y: 0 } } },
      { type: "connect", edge: edge("c", "a") },
      { type: "connect", edge: edge("a", "a") },
      { type: "connect", edge: edge("a", "nobody") },
      { type: "connect", edge: edge("a", "c", "a-b") },
      { type: "reconnect", edgeId: "a-b", edge: edge("c", "b") },
      { type: "reconnect", edgeId: "nobody", edge: edge("a", "c") },
      { type: "add", nodes: [node("a")], edges: [] },
      { type: "remove", nodeIds: ["nobody"], edgeIds: [] },
      { type: "replace", document: { ...document, nodes: [node("a"), node("a")] } },
      { type: "replace", document: { nodes: [] } as unknown as typeof document },
    ] as const
    for (const command of nothing) {
      expect(isEmpty(changeOf(document, command)), JSON.stringify(command)).toBe(true)
    }
  })

  it("names an edge's new ends and keeps its id", () => {
    const document = { ...documentWith("a", "b", "c"), edges: [edge("a", "b")] }
    const command = { type: "reconnect", edgeId: "a-b", edge: edge("a", "c") } as const
    const [joined] = applied(document, changeOf(document, command)).edges
    expect(joined).toEqual(edge("a", "c", "a-b"))
  })

  it("adds thousands of edges in one step", () => {
    const ids = Array.from({ length: 500 }, (_, at) => `n${at}`)
    const edges = ids.flatMap((id, at) =>
      ids.slice(at + 1, at + 5).map((target) => edge(id, target)),
    )
    const change = changeOf(emptyDocument, {
      type: "add",
      nodes: documentWith(...ids).nodes,
      edges,
    })
    expect([change.nodes.length, change.edges.length]).toEqual([500, edges.length])
  })
})

describe("History", () => {
  const typed = (history: History, texts: ReadonlyArray<readonly [string, number]>) => {
    let document = documentWith("a")
    for (const [value, at] of texts) {
      const command = { type: "setData", nodeId: "a", key: "label", value } as const
      const next = applied(document, changeOf(document, command))
      history.record(document, next, { at, field: "label" })
      document = next
    }
    return document
  }

  it("takes typing within a second as one step", () => {
    const history = new History()
    const texts = [
      ["H", 0],
      ["He", 900],
      ["Hel", 1_800],
      ["Help", 2_900],
    ] as const
    const document = typed(history, texts)
    const once = applied(document, history.undo()!)
    expect(once.nodes[0]?.data).toEqual({ label: "Hel" })
    expect(applied(once, history.undo()!)).toEqual(documentWith("a"))
    expect(history.canUndo).toBe(false)
  })

  it("has nothing to undo where the typing was deleted again", () => {
    const history = new History()
    typed(history, [
      ["ab", 0],
      ["a", 100],
    ])
    expect(history.canUndo).toBe(false)
  })

  it("begins a step of its own once it is sealed, and after undo", () => {
    const history = new History()
    const document = typed(history, [["x", 0]])
    history.seal()
    const next = { ...document, name: "Other" }
    history.record(document, next, { at: 1, field: "label" })
    expect(applied(next, history.undo()!)).toEqual(document)
    expect(history.canUndo).toBe(true)
  })

  it("keeps the last hundred steps", () => {
    const history = new History()
    for (let count = 0; count < stepsKept + 20; count++) {
      const name = (number: number) => ({ ...emptyDocument, name: `${number}` })
      history.record(name(count), name(count + 1), { at: count, field: undefined })
    }
    const undone = Array.from({ length: stepsKept + 1 }, () => history.undo())
    expect(undone.filter((step) => step !== undefined)).toHaveLength(stepsKept)
  })

  it("redoes nothing any more once something else was done", () => {
    const history = new History()
    const document = typed(history, [["x", 0]])
    history.undo()
    expect(history.canRedo).toBe(true)
    history.record(document, { ...document, name: "Other" }, { at: 9, field: undefined })
    expect(history.canRedo).toBe(false)
  })

  it("gives back what a difference says, also of another order", () => {
    const [one, other] = [documentWith("a", "b", "c"), documentWith("c", "a", "d")]
    expect(applied(one, difference(one, other))).toEqual(other)
    expect(applied(other, inverse(difference(one, other)))).toEqual(one)
  })
})
