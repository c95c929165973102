// What of a graph a rerun executes anew, and what it takes over.
import { describe, expect, it } from "vitest"
import type { NodeRunStatus } from "../../src/domain/Run.ts"
import type { Edge, Node } from "../../src/domain/Workflow.ts"
import { rerunPlanOf } from "../../src/graph/internal/Rerun.ts"
import { edges, graphOf, node } from "./Fixture.ts"

const chain = ["a", "b", "c"].map((id) => node(id, "lenient"))
const drawn = edges("a -> b", "b -> c")

interface Asked {
  readonly from?: ReadonlyArray<string>
  readonly pinned?: ReadonlyArray<string>
  readonly now?: readonly [ReadonlyArray<Node>, ReadonlyArray<Edge>]
}

const planOf = (
  statuses: Readonly<Record<string, NodeRunStatus>>,
  { from = [], now = [chain, drawn], pinned = [] }: Asked = {},
) => {
  const earlier = { nodes: chain, edges: drawn, statuses: new Map(Object.entries(statuses)) }
  const [nodes, current] = now
  const wish = { from: new Set(from), pinned: new Set(pinned) }
  const { anew, takenOver } = rerunPlanOf(earlier, graphOf(nodes, current), current, wish)
  return { anew: Object.fromEntries(anew), takenOver }
}

const completed = { a: "COMPLETED", b: "COMPLETED", c: "COMPLETED" } as const

describe("rerunPlanOf", () => {
  it("takes over what has completed, and nothing behind a node that is executed anew", () => {
    expect(planOf({ a: "COMPLETED", b: "FAILED", c: "SKIPPED" })).toEqual({
      anew: {
        b: { _tag: "Unfinished", status: "FAILED" },
        c: { _tag: "Follows", nodeId: "b" },
      },
      takenOver: ["a"],
    })
    expect(planOf({ a: "COMPLETED" }).takenOver).toEqual(["a"])
    expect(planOf(completed)).toEqual({ anew: {}, takenOver: ["a", "b", "c"] })
  })

  it("begins where it is asked to", () => {
    expect(planOf(completed, { from: ["b"] })).toEqual({
      anew: { b: { _tag: "Asked" }, c: { _tag: "Follows", nodeId: "b" } },
      takenOver: ["a"],
    })
  })

  it("executes what is behind a given output, and neither executes nor takes over its node", () => {
    expect(planOf(completed, { pinned: ["a"] })).toEqual({
      anew: { b: { _tag: "Follows", nodeId: "a" }, c: { _tag: "Follows", nodeId: "b" } },
      takenOver: [],
    })
  })

  it("executes nodes whose data or edges are others, but not those that were moved", () => {
    const moved = { ...chain[1]!, position: { x: 9, y: 9 }, data: { label: "Second" } }
    expect(planOf(completed, { now: [[chain[0]!, moved, chain[2]!], drawn] }).anew).toEqual({})
    const other = node("b", "lenient", { input: 1 })
    const changed = planOf(completed, { now: [[chain[0]!, other, chain[2]!], edges("b -> c")] })
    expect(changed.anew).toEqual({
      b: { _tag: "Changed" },
      c: { _tag: "Follows", nodeId: "b" },
    })
    const joined = edges("a -> b", "b -> c", "a -> c")
    expect(planOf(completed, { now: [chain, joined] }).anew).toEqual({ c: { _tag: "Changed" } })
  })

  it("executes new nodes, and forgets those that are gone", () => {
    const more = [...chain, node("d", "lenient")]
    const plan = planOf(completed, { now: [more, edges("a -> b", "b -> c", "c -> d")] })
    expect(plan).toEqual({ anew: { d: { _tag: "New" } }, takenOver: ["a", "b", "c"] })
    expect(planOf(completed, { now: [chain.slice(0, 2), edges("a -> b")] }).takenOver).toEqual([
      "a",
      "b",
    ])
  })

  it("reads the same data in another order of keys as the same", () => {
    const nodes = [node("a", "pair", { left: 1, right: 2 })]
    const turned = [{ ...nodes[0]!, data: { inputs: { right: 2, left: 1 } } }]
    const earlier = { nodes, edges: [], statuses: new Map([["a", "COMPLETED" as const]]) }
    const wish = { from: new Set<string>(), pinned: new Set<string>() }
    expect(rerunPlanOf(earlier, graphOf(turned), [], wish).takenOver).toEqual(["a"])
  })
})
