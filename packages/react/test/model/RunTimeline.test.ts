/**
 * The timeline of a run shows when each node was ready, ran and waited.
 */
import { describe, expect, it } from "vitest"
import type { StreamedItem } from "../../src/model/LiveRun.ts"
import { followed } from "../../src/model/LiveRun.ts"
import type { RunTimeline } from "../../src/model/RunTimeline.ts"
import { ticksOf, timelineOf } from "../../src/model/RunTimeline.ts"
import { at, completed, event, frame, millis, node, run, running, snapshot } from "./Sample.ts"

const graph = {
  nodes: ["a", "b"].map((id) => ({ id, type: "text", position: { x: 0, y: 0 } })),
  edges: [{ id: "e", source: "a", target: "b" }],
}

/** Items, each with the second in which it comes. */
const shown = (items: ReadonlyArray<readonly [number, StreamedItem]>, now: number) => {
  const live = items.reduce(
    (known, [second, item]) => followed(known, item, millis(second)),
    followed(undefined, snapshot(0, run([node("a"), node("b")])), millis(0)),
  )
  return timelineOf(live, graph, millis(now))
}

const spansOf = ({ from, rows }: RunTimeline, nodeId: string) =>
  rows
    .find((row) => row.node.nodeId === nodeId)!
    .spans.map(({ attempt, kind, ...span }) => {
      const seconds = [span.from, span.to].map((time) => (time - from) / 1_000)
      return `${kind} ${attempt}: ${seconds.join("-")}`
    })

describe("timelineOf", () => {
  it("shows attempts and the waits between them, up to now", () => {
    const waiting = node("a", { status: "WAITING", attempt: 1, startedAt: at(1), dueAt: at(5) })
    const items = [
      [1, frame(running("a", 1))],
      [2, frame(waiting)],
      [5, frame(running("a", 1, 2))],
    ] as const
    expect(spansOf(shown(items, 7), "a")).toEqual([
      "running 1: 1-2",
      "waiting 1: 2-5",
      "running 2: 5-7",
    ])
  })

  it("shows how long a node was ready before it began", () => {
    const items = [
      [3, frame(completed("a", 1, 3))],
      [4, frame(running("b", 4))],
    ] as const
    const found = shown(items, 6)
    expect(spansOf(found, "b")).toEqual(["queued 0: 3-4", "running 1: 4-6"])
    expect(found.queuedMillis).toBe(1_000)
  })

  it("shows a node that ended before anybody looked as one span", () => {
    const ended = run([completed("a", 1, 3, 2), node("b", { status: "SKIPPED" })], {
      status: "COMPLETED",
      finishedAt: at(3),
    })
    const found = timelineOf(followed(undefined, snapshot(4, ended), 0), graph, millis(99))
    expect(spansOf(found, "a")).toEqual(["running 2: 1-3"])
    expect(spansOf(found, "b")).toEqual([])
    expect(found.to).toBe(millis(3))
  })

  it("stays on its scale, whatever the viewer's clock says", () => {
    const items = [[1, frame(running("a", 1))]] as const
    const found = shown(items, -3_600)
    expect(found.to).toBeGreaterThan(found.from)
    for (const { from, to } of found.rows.flatMap(({ spans }) => spans)) {
      expect(from).toBeGreaterThanOrEqual(found.from)
      expect(to).toBeLessThanOrEqual(found.to)
    }
    const end = event(1, "run.canceled", 2)
    expect(shown([...items, [9, end]], 50).to).toBe(millis(2))
  })
})

describe("ticksOf", () => {
  it("are round and few, from a millisecond to months", () => {
    expect(ticksOf(100)).toEqual([0, 20, 40, 60, 80, 100])
    for (let millisOf = 1; millisOf < 1e11; millisOf *= 3) {
      expect(ticksOf(millisOf).length).toBeLessThanOrEqual(8)
      expect(ticksOf(millisOf).length).toBeGreaterThan(0)
    }
  })
})
