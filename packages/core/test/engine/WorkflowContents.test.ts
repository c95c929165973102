// When two contents of a workflow are the same, so that saving one over the other changes nothing.
import { describe, expect, it } from "vitest"
import type { WorkflowContent } from "../../src/domain/Workflow.ts"
import { contentOf, sameContent } from "../../src/engine/internal/WorkflowContents.ts"

const make = (): WorkflowContent => ({
  name: "Orders",
  description: "What shops send",
  thumbnailUrl: "https://example.com/a.png",
  nodes: [{ id: "n", type: "constant", position: { x: 0, y: 0 }, data: { a: 1, b: 2 } }],
  edges: [{ id: "e", source: "n", target: "n" }],
  settings: { timeoutMillis: 5_000 },
})

describe("sameContent", () => {
  it("is true of equal contents, and of contents that share their parts", () => {
    const content = make()
    expect(sameContent(content, make())).toBe(true)
    expect(sameContent(content, { ...content })).toBe(true)
  })

  it("counts settings that are not there as empty ones", () => {
    const { settings: _, ...content } = make()
    expect(sameContent(content, { ...content, settings: {} })).toBe(true)
    expect(sameContent({ ...content, settings: {} }, content)).toBe(true)
    expect(sameContent(content, make())).toBe(false)
    expect(sameContent(make(), content)).toBe(false)
  })

  const changes: ReadonlyArray<Partial<WorkflowContent>> = [
    { name: "Other" },
    { description: null },
    { thumbnailUrl: null },
    { nodes: [] },
    { nodes: make().nodes.map((node) => ({ ...node, data: { b: 2, a: 1 } })) },
    { edges: [] },
    { settings: { timeoutMillis: 6_000 } },
  ]

  it.each(changes)("is false where they differ in %j", (change) => {
    expect(sameContent(make(), { ...make(), ...change })).toBe(false)
  })
})

describe("contentOf", () => {
  it("drops what clients may not set, and has settings", () => {
    const { settings: _, ...content } = make()
    const stored = { ...content, id: "wf_1", revision: 3 }
    expect(contentOf(stored)).toStrictEqual({ ...content, settings: {} })
  })
})
