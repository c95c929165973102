import { describe, expect, it } from "vitest"
import * as HandlerBoard from "../src/HandlerBoard.ts"

const filled = () => {
  const board = HandlerBoard.make()
  return { board, watchdog: HandlerBoard.writer(board) }
}

describe("HandlerBoard.explain", () => {
  it("names the handler that gives no control back, and no other one", () => {
    const { board, watchdog } = filled()
    watchdog.returned(watchdog.called("node a"))
    const busy = watchdog.called("node ü")
    expect(HandlerBoard.explain(board)).toBe("node ü gives no control back")
    watchdog.returned(busy)
    expect(HandlerBoard.explain(board)).toBe("in progress are node ü, node a")
  })

  it("forgets handlers that are over, and uses their places again", () => {
    const { board, watchdog } = filled()
    for (let at = 0; at < 1_000; at++) {
      const handler = watchdog.called(`node ${at}`)
      watchdog.returned(handler)
      watchdog.ended(handler)
    }
    expect(HandlerBoard.explain(board)).toBe("no node is in progress")
  })

  it("names the five that were called last, and counts the others", () => {
    const { board, watchdog } = filled()
    const handlers = Array.from({ length: 300 }, (_, at) => watchdog.called(`node ${at}`))
    for (const handler of handlers) watchdog.returned(handler)
    // The last ones found no place and are only counted.
    expect(HandlerBoard.explain(board)).toBe(
      "in progress are node 255, node 254, node 253, node 252, node 251, and 295 more",
    )
    for (const handler of handlers) watchdog.ended(handler)
    expect(HandlerBoard.explain(board)).toBe("no node is in progress")
  })

  it("cuts what does not fit into a place", () => {
    const { board, watchdog } = filled()
    watchdog.returned(watchdog.called("x".repeat(1_000)))
    expect(HandlerBoard.explain(board)).toBe(`in progress are ${"x".repeat(256)}`)
  })
})

describe("HandlerBoard.beatsOf", () => {
  it("changes with every turn of the loop", () => {
    const { board } = filled()
    const before = HandlerBoard.beatsOf(board)
    HandlerBoard.beat(board)
    expect(HandlerBoard.beatsOf(board)).not.toBe(before)
  })
})
