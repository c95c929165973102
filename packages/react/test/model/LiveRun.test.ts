/**
 * A run on screen is the run that the server has, whatever the connection does.
 */
import { describe, expect, it } from "vitest"
import type { LiveRun, StreamedItem } from "../../src/model/LiveRun.ts"
import { clockOffset, followed } from "../../src/model/LiveRun.ts"
import { at, completed, event, frame, millis, node, run, running, snapshot } from "./Sample.ts"

const after = (items: ReadonlyArray<StreamedItem>, from?: LiveRun): LiveRun =>
  items.reduce<LiveRun | undefined>((live, item) => followed(live, item, millis(9)), from)!

const begin = snapshot(1, run([node("a"), node("b")]))

const story = [
  begin,
  frame(running("a", 1)),
  frame(node("a", { status: "WAITING", attempt: 1, startedAt: at(1), dueAt: at(4) })),
  frame(running("a", 1, 2)),
  frame(completed("a", 1, 5, 2)),
  event(2, "node.completed", 5, { nodeId: "a", attempt: 2, status: "COMPLETED" }),
  frame(running("b", 5)),
  event(3, "run.failed", 6, { actualCredits: 2.5 }, "b is late"),
]

describe("followed", () => {
  it("knows nothing before the first snapshot", () => {
    expect(followed(undefined, frame(running("a", 1)), 0)).toBeUndefined()
  })

  it("has every state that the stream tells of, and ends what was open with the run", () => {
    const states = story.map((_, index) => {
      const { run: found } = after(story.slice(0, index + 1))
      return `${found.nodes["a"]!.status} ${found.nodes["b"]!.status} ${found.status}`
    })
    expect(states).toEqual([
      "PENDING PENDING RUNNING",
      "RUNNING PENDING RUNNING",
      "WAITING PENDING RUNNING",
      "RUNNING PENDING RUNNING",
      "COMPLETED PENDING RUNNING",
      "COMPLETED PENDING RUNNING",
      "COMPLETED RUNNING RUNNING",
      "COMPLETED CANCELED FAILED",
    ])
    const { run: found } = after(story)
    expect(found).toMatchObject({ error: "b is late", finishedAt: at(6), actualCredits: 2.5 })
  })

  it("does not change when something comes twice or late", () => {
    for (let end = 1; end <= story.length; end++) {
      const live = after(story.slice(0, end))
      const settled = story.slice(0, end).filter((item) => item.event !== "node")
      expect(after(settled, live).run).toEqual(live.run)
    }
    const ended = after(story)
    expect(after([...story, event(1, "run.started", 1)], ended)).toEqual(ended)
    const live = after(story.slice(0, 6))
    expect(after([frame(running("a", 1, 2)), frame(node("a"))], live)).toBe(live)
  })

  it("keeps what it knows when a stream begins anew with an older snapshot", () => {
    const live = after(story.slice(0, 6))
    expect(after([begin], live)).toBe(live)
    const same = snapshot(2, run([completed("a", 1, 5, 2), node("b")]))
    expect(after([same], live).run.nodes).toEqual(live.run.nodes)
  })

  it("takes the end of a node from its event if no frame has told of it", () => {
    const told = { nodeId: "a", attempt: 1, status: "FAILED" }
    const live = after([begin, event(2, "node.failed", 3, told, "no")])
    const found = live.run.nodes["a"]
    expect(found).toMatchObject({ status: "FAILED", error: "no", finishedAt: at(3), attempt: 1 })
  })

  it("remembers when a node ran and waited", () => {
    const moves = after(story).moves["a"]!.map(({ attempt, status }) => `${status} ${attempt}`)
    expect(moves).toEqual(["RUNNING 1", "WAITING 1", "RUNNING 2", "COMPLETED 2"])
  })
})

describe("clockOffset", () => {
  it("follows events that have just come, and a snapshot only where it tells of the future", () => {
    const hour = 3_600_000
    expect(clockOffset(0, frame(running("a", 1)), millis(1) - hour)).toBe(hour)
    expect(clockOffset(0, frame(running("a", 1)), millis(1) + hour)).toBe(-hour)
    expect(clockOffset(0, begin, millis(1) + hour)).toBe(0)
    expect(clockOffset(0, begin, millis(0) - hour)).toBe(hour)
  })
})
