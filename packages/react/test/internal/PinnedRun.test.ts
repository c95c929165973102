/**
 * What of a past run can be pinned.
 */
import type { Run } from "@millrace/api/PromiseClient"
import { describe, expect, it } from "vitest"
import { pinnedRunOf, withoutPins } from "../../src/internal/PinnedRun.ts"

const node = (nodeId: string, more: object = {}) => ({
  nodeId,
  nodeType: "constant",
  status: "COMPLETED",
  output: { value: nodeId },
  ...more,
})

const nodesOf = (...all: ReadonlyArray<{ readonly nodeId: string }>) =>
  Object.fromEntries(all.map((each) => [each.nodeId, each])) as unknown as Run["nodes"]

const drawn = (...ids: ReadonlyArray<string>) => ids.map((id) => ({ id, type: "constant" }))

describe("pinnedRunOf", () => {
  it("takes outputs of completed nodes that are still drawn, and of the same type", () => {
    const nodes = nodesOf(
      node("a"),
      node("failed", { status: "FAILED" }),
      node("gone"),
      node("other", { nodeType: "switch" }),
      node("__proto__"),
    )
    const { pins, tooLarge } = pinnedRunOf(nodes, drawn("a", "failed", "other", "new"))
    expect(pins).toEqual({ a: { value: "a" } })
    expect(tooLarge).toEqual([])
    expect(withoutPins(pins, ["a"])).toEqual({})
  })

  it("never stands for the request, or for somebody who decides", () => {
    const types = ["request", "response", "note", "wait_signal"]
    const nodes = nodesOf(...types.map((type) => node(type, { nodeType: type })))
    expect(
      pinnedRunOf(
        nodes,
        types.map((type) => ({ id: type, type })),
      ).pins,
    ).toEqual({})
  })

  it("names nodes whose outputs are too large to travel with a start", () => {
    const large = node("b", { output: {}, largeValues: [{ id: "v", at: "/output/x", bytes: 9 }] })
    const input = node("c", { largeValues: [{ id: "v", at: "/input/x", bytes: 9 }] })
    const found = pinnedRunOf(nodesOf(large, input), drawn("b", "c"))
    expect(found).toEqual({ pins: { c: { value: "c" } }, tooLarge: ["b"] })
  })
})
