/**
 * Two people have changed one workflow: what only one of them did stays, and for the rest somebody
 * is asked.
 */
import { describe, expect, it } from "vitest"
import { applied } from "../../../src/model/editing/Change.ts"
import type { Command } from "../../../src/model/editing/Command.ts"
import { changeOf } from "../../../src/model/editing/Command.ts"
import type { WorkflowDocument } from "../../../src/model/editing/Document.ts"
import { isSame, own } from "../../../src/model/editing/Document.ts"
import { problemOfDocument } from "../../../src/model/editing/DocumentCheck.ts"
import type { MergeChoice } from "../../../src/model/editing/Merging.ts"
import { mergeDocuments } from "../../../src/model/editing/Merging.ts"
import { Choice, documentWith, edge, Marks, node, randomCommand } from "./RandomEditing.ts"

const edit = (document: WorkflowDocument, ...commands: ReadonlyArray<Command>) =>
  commands.reduce((now, command) => applied(now, changeOf(now, command)), document)

const label = (nodeId: string, value: string): Command => ({
  type: "setData",
  nodeId,
  key: "label",
  value,
})

const input = (nodeId: string, port: string, value: unknown): Command => ({
  type: "setInput",
  nodeId,
  port,
  value,
})

const removal = (...nodeIds: ReadonlyArray<string>): Command => ({
  type: "remove",
  nodeIds,
  edgeIds: [],
})

const connect = (source: string, target: string): Command => ({
  type: "connect",
  edge: edge(source, target),
})

const base = { ...documentWith("a", "b", "c"), edges: [edge("a", "b")] }

const merge = (
  mine: ReadonlyArray<Command>,
  theirs: ReadonlyArray<Command>,
  choice?: MergeChoice,
) => {
  const [one, other] = [edit(base, ...mine), edit(base, ...theirs)]
  const found = mergeDocuments(base, one, other)
  if (choice === undefined) return found
  const choices = Object.fromEntries(found.conflicts.map(({ id }) => [id, choice]))
  return mergeDocuments(base, one, other, { choices })
}

const dataIn = (document: WorkflowDocument, id: string) =>
  document.nodes.find((each) => each.id === id)?.data

describe("mergeDocuments", () => {
  it("keeps changes of different nodes, and of different fields of one node", () => {
    const { conflicts, merged } = merge(
      [label("a", "mine"), input("b", "url", "mine"), { type: "setDocument", name: "Mine" }],
      [
        label("b", "theirs"),
        input("b", "value", 1),
        { type: "move", places: { a: { x: 7, y: 7 } } },
        { type: "setDocument", settings: { onFailure: "stop" } },
      ],
    )
    expect(conflicts).toEqual([])
    expect(merged).toMatchObject({ name: "Mine", settings: { onFailure: "stop" } })
    expect(merged.nodes[0]).toEqual({ ...node("a", { label: "mine" }), position: { x: 7, y: 7 } })
    expect(dataIn(merged, "b")).toEqual({ label: "theirs", inputs: { url: "mine", value: 1 } })
  })

  it("asks about a field that both have changed, and takes the choice", () => {
    const [mine, theirs] = [[label("a", "mine")], [label("a", "theirs")]]
    const { conflicts, merged } = merge(mine, theirs)
    expect(conflicts).toMatchObject([
      {
        kind: "node",
        elementId: "a",
        label: "mine",
        path: ["data", "label"],
        reason: "changed",
        base: "a",
        mine: "mine",
        theirs: "theirs",
      },
    ])
    expect(dataIn(merged, "a")).toEqual({ label: "mine" })
    for (const choice of ["mine", "theirs"] as const) {
      const chosen = merge(mine, theirs, choice)
      expect(chosen.conflicts).toEqual([])
      expect(dataIn(chosen.merged, "a")).toEqual({ label: choice })
    }
  })

  it("asks nothing where both did the same", () => {
    const same = [label("a", "same"), removal("c"), connect("a", "c"), removal("b")]
    expect(merge(same, same)).toMatchObject({ conflicts: [], merged: edit(base, ...same) })
  })

  it("asks about a node that one has removed and the other has changed", () => {
    const [mine, theirs] = [[removal("b")], [label("b", "theirs")]]
    const { conflicts } = merge(mine, theirs)
    expect(conflicts).toMatchObject([{ elementId: "b", path: [], reason: "removed" }])
    expect(conflicts[0]?.mine).toBeUndefined()
    expect(merge(mine, theirs, "mine").merged).toEqual(edit(base, removal("b")))
    // With the node comes the edge that went along with it.
    expect(merge(mine, theirs, "theirs").merged).toEqual(edit(base, label("b", "theirs")))
    expect(merge(theirs, mine, "mine").merged.edges).toEqual(base.edges)
    expect(merge(theirs, mine, "theirs").merged.edges).toEqual([])
  })

  it("asks about a node that one has removed and to which the other has drawn an edge", () => {
    const [mine, theirs] = [[removal("b")], [connect("c", "b")]]
    expect(merge(mine, theirs).conflicts).toMatchObject([{ elementId: "b", reason: "removed" }])
    expect(merge(mine, theirs, "mine").merged.edges).toEqual([])
    const kept = merge(mine, theirs, "theirs").merged.edges.map(({ id }) => id)
    expect(kept.toSorted()).toEqual(["a-b", "c-b"])
  })

  it("asks about edges that make a circle together", () => {
    const [mine, theirs] = [[connect("b", "c")], [connect("c", "a")]]
    const found = merge(mine, theirs)
    expect(found.conflicts).toMatchObject([{ kind: "edge", elementId: "b-c", reason: "cycle" }])
    expect(found.conflicts[0]?.theirs).toEqual([edge("c", "a")])
    expect(problemOfDocument(found.merged)).toBeUndefined()
    const ids = (choice: MergeChoice) =>
      merge(mine, theirs, choice).merged.edges.map(({ id }) => id)
    expect(ids("mine").toSorted()).toEqual(["a-b", "b-c"])
    expect(ids("theirs").toSorted()).toEqual(["a-b", "c-a"])
  })

  it("keeps both of two nodes that were added under one id, and gives mine another one", () => {
    const added = (name: string, text: string): Command => ({
      type: "add",
      nodes: [node("text", { label: name }), node(`${name}s`, { inputs: { value: text } })],
      edges: [edge("text", `${name}s`, "e")],
    })
    const { conflicts, merged, renamed } = merge(
      [added("mine", '{{ text.output }} {{ "text" + nodes["text"].x }} text')],
      [added("their", "{{ text.output }}")],
    )
    expect(conflicts).toEqual([])
    expect([...renamed.nodes, ...renamed.edges]).toEqual([
      ["text", "text_2"],
      ["e", "e_2"],
    ])
    expect(dataIn(merged, "text")).toEqual({ label: "their" })
    expect(dataIn(merged, "text_2")).toEqual({ label: "mine" })
    expect(dataIn(merged, "mines")).toEqual({
      inputs: { value: '{{ text_2.output }} {{ "text" + nodes["text_2"].x }} text' },
    })
    expect(merged.edges.slice(1)).toEqual([
      edge("text", "theirs", "e"),
      edge("text_2", "mines", "e_2"),
    ])
  })

  it("does not take for theirs what I have sent myself", () => {
    const sent = edit(base, label("a", "sent"), removal("c"), {
      type: "add",
      nodes: [node("d", { label: "sent" })],
      edges: [],
    })
    const mine = edit(sent, label("a", "later"), label("d", "later"))
    const found = mergeDocuments(base, mine, sent, { sent })
    expect(found).toMatchObject({ conflicts: [], merged: mine })
    expect(found.renamed.nodes.size).toBe(0)
    const theirs = edit(sent, label("b", "theirs"))
    const both = mergeDocuments(base, mine, theirs, { sent })
    expect([both.conflicts, dataIn(both.merged, "a")]).toEqual([[], { label: "later" }])
    expect(dataIn(both.merged, "b")).toEqual({ label: "theirs" })
  })
})

describe("mergeDocuments after a save without an answer", () => {
  it("asks about what I have taken back since, if somebody else has changed it", () => {
    const sent = edit(base, label("a", "sent"))
    const theirs = edit(base, label("a", "theirs"))
    expect(mergeDocuments(base, base, theirs, { sent }).conflicts).toMatchObject([
      { elementId: "a", mine: "a", theirs: "theirs" },
    ])
    expect(mergeDocuments(base, base, sent, { sent })).toMatchObject({
      conflicts: [],
      merged: base,
    })
    expect(mergeDocuments(base, base, base, { sent })).toMatchObject({
      conflicts: [],
      merged: base,
    })
  })
})

/** The fields of all elements that differ, whatever their order. */
const changesBetween = (before: WorkflowDocument, after: WorkflowDocument): ReadonlyArray<string> =>
  (["nodes", "edges"] as const).flatMap((kind) => {
    const old = new Map<string, object>(before[kind].map((each) => [each.id, each]))
    const now = new Map<string, object>(after[kind].map((each) => [each.id, each]))
    return [...new Set([...old.keys(), ...now.keys()])].flatMap((id) => {
      const [was, is] = [old.get(id), now.get(id)]
      if (is === undefined) return [`${kind} ${id} removed`]
      if (was === undefined) return [`${kind} ${id} added`]
      return Object.keys(is).flatMap((name) =>
        isSame(own(is, name), own(was, name)) ? [] : [`${kind} ${id} ${name}`],
      )
    })
  })

describe("mergeDocuments of random edits", () => {
  const marksIn = (value: unknown): ReadonlySet<string> =>
    new Set(JSON.stringify(value).match(/mark\d+_/g))

  const edited = (choice: Choice, document: WorkflowDocument, marks: Marks, count: number) => {
    let now = document
    for (let step = 0; step < count; step++) {
      now = applied(now, changeOf(now, randomCommand(choice, now, marks.next())))
    }
    return now
  }

  it("loses nothing that either has typed, unless somebody was asked about it", () => {
    for (let seed = 0; seed < 1_000; seed++) {
      const choice = new Choice(seed)
      const marks = new Marks()
      const start = edited(choice, documentWith("a", "b"), marks, 15)
      const mine = edited(choice, start, marks, 1 + choice.below(6))
      const theirs = edited(choice, start, marks, 1 + choice.below(6))
      const { conflicts, merged } = mergeDocuments(start, mine, theirs)
      const there = marksIn(merged)
      const asked = marksIn(conflicts)
      const old = marksIn(start)
      for (const mark of [...marksIn(mine), ...marksIn(theirs)]) {
        if (old.has(mark)) continue
        expect(there.has(mark) || asked.has(mark), `seed ${seed}: ${mark} is lost`).toBe(true)
      }
      expect(problemOfDocument(merged), `seed ${seed}`).toBeUndefined()
    }
  })

  it("has what each changed of nodes that the other one left alone", () => {
    for (let seed = 0; seed < 1_000; seed++) {
      const choice = new Choice(seed)
      const marks = new Marks()
      const start = edited(choice, documentWith("a", "b"), marks, 15)
      const mine = edited(choice, start, marks, 1 + choice.below(5))
      const theirs = edited(choice, start, marks, 1 + choice.below(5))
      const { conflicts, merged, renamed } = mergeDocuments(start, mine, theirs)
      if (conflicts.length > 0) continue
      const changes = (to: WorkflowDocument) => changesBetween(start, to)
      const all = new Set(changes(merged))
      const isRenamed = renamed.nodes.size + renamed.edges.size > 0
      const wanted = isRenamed ? changes(theirs) : [...changes(mine), ...changes(theirs)]
      const missing = wanted.filter((each) => !all.has(each))
      expect(missing, `seed ${seed}`).toEqual([])
    }
  })

  it("has no conflict left once each has a choice", () => {
    for (let seed = 0; seed < 1_000; seed++) {
      const choice = new Choice(seed)
      const marks = new Marks()
      const start = edited(choice, documentWith("a", "b", "c"), marks, 10)
      const mine = edited(choice, start, marks, 6)
      const theirs = edited(choice, start, marks, 6)
      let choices: Record<string, MergeChoice> = {}
      for (let round = 0; round < 20; round++) {
        const { conflicts } = mergeDocuments(start, mine, theirs, { choices })
        if (conflicts.length === 0) break
        for (const { id } of conflicts)
          choices = { ...choices, [id]: choice.of(["mine", "theirs"]) }
      }
      const { conflicts, merged } = mergeDocuments(start, mine, theirs, { choices })
      expect(conflicts, `seed ${seed}`).toEqual([])
      expect(problemOfDocument(merged), `seed ${seed}`).toBeUndefined()
    }
  })
})
