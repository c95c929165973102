/** What a run knows of the versions of node types that its nodes have. */
import type { NodeType } from "@millrace/core/domain/NodeType"
import { builtinOrigin } from "@millrace/core/domain/NodeType"
import { assert, describe, it } from "@effect/vitest"
import { versionsText, withVersions } from "../../src/graph/internal/NodeVersions.ts"
import { byKey, node, type } from "./Fixture.ts"

const mail = (version: number, more: Partial<NodeType> = {}) =>
  type("mail", ["input"], [], { version, ...more })

const types = byKey([
  mail(1, { newer: [mail(2)] }),
  type("late", [], [], { version: 3 }),
  type("list", [], [], { origin: builtinOrigin }),
])

const dataOf = (nodes: ReturnType<typeof withVersions>) => nodes.map(({ data }) => data)

describe("The version of a node in a run", () => {
  it("is the oldest of its type if the node names none", () => {
    const nodes = [node("a", "mail"), node("b", "late", { input: 1 }), node("c", "mail")]
    const { data: _, ...bare } = nodes[2]!
    assert.deepStrictEqual(dataOf(withVersions([nodes[0]!, nodes[1]!, bare], types)), [
      { version: 1 },
      { inputs: { input: 1 }, version: 3 },
      { version: 1 },
    ])
  })

  it("stays as it is drawn", () => {
    const nodes = [node("a", "mail", {}, { version: 2 }), node("b", "late", {}, { version: 1 })]
    assert.deepStrictEqual(withVersions(nodes, types), nodes)
  })

  it("is not written for built-in types, unknown types, and data that is no object", () => {
    const nodes = [node("a", "list"), node("b", "gone"), { ...node("c", "mail"), data: "text" }]
    assert.deepStrictEqual(withVersions(nodes, types), nodes)
  })
})

describe("The text of versions", () => {
  const textOf = (...nodes: ReadonlyArray<ReturnType<typeof node>>) =>
    versionsText(withVersions(nodes, types), types)

  it("is empty without types of one's own, and short if all are the first ones", () => {
    assert.strictEqual(textOf(node("a", "list")), "")
    assert.strictEqual(textOf(node("a", "mail"), node("b", "list"), node("c", "mail")), "+n")
  })

  it("tells which node has which version, where any has a later one", () => {
    const later = node("b", "mail", {}, { version: 2 })
    assert.strictEqual(textOf(node("a", "mail"), later), "+n+mail@1.2")
    assert.strictEqual(textOf(later, node("a", "mail"), node("c", "late")), "+n+mail@2.1+late@3")
  })
})
