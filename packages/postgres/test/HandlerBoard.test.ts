import { RunId } from "@millrace/core/domain/Id"
import { describe, expect, it } from "vitest"
import * as HandlerBoard from "../src/internal/HandlerBoard.ts"

const run = RunId.make("run_1")

const filled = () => {
  const board = HandlerBoard.make()
  const watchdog = HandlerBoard.writer(board)
  const begin = (nodeId: string) => {
    const handler = watchdog.began({ runId: run, nodeId, nodeType: "t" })
    watchdog.entered(handler)
    return handler
  }
  return { board, watchdog, begin }
}

describe("HandlerBoard.explain", () => {
  it("names the handler that gives no control back, and no other one", () => {
    const { begin, board, watchdog } = filled()
    watchdog.left(begin("a"))
    const busy = begin("\u00fc \n")
    const clause = 'node "\u00fc \\n" (t) of run run_1 gives no control back'
    expect(HandlerBoard.explain(board, 5)).toEqual({ run, clause })
    watchdog.left(busy)
    expect(HandlerBoard.explain(board, 5)).toEqual({
      run: undefined,
      clause: 'in progress are node "\u00fc \\n" (t) of run run_1, node "a" (t) of run run_1',
    })
  })

  it("forgets handlers that are over, and uses their places again", () => {
    const { begin, board, watchdog } = filled()
    for (let at = 0; at < 1_000; at++) {
      const handler = begin(`${at}`)
      watchdog.left(handler)
      watchdog.ended(handler)
    }
    expect(HandlerBoard.explain(board, 5).clause).toBe("no node is in progress")
  })

  it("names the five that had control last, and counts the others", () => {
    const { begin, board, watchdog } = filled()
    const handlers = Array.from({ length: 300 }, (_, at) => begin(`n${at}`))
    for (const handler of handlers) watchdog.left(handler)
    const { clause } = HandlerBoard.explain(board, 5)
    // The last ones found no place and are only counted.
    expect(clause.match(/n\d+/g)).toEqual(["n255", "n254", "n253", "n252", "n251"])
    expect(clause.endsWith(", and 295 more")).toBe(true)
    for (const handler of handlers) watchdog.ended(handler)
    expect(HandlerBoard.explain(board, 5).clause).toBe("no node is in progress")
  })

  it("cuts what does not fit into a place", () => {
    const { begin, board, watchdog } = filled()
    watchdog.left(begin("x".repeat(1_000)))
    expect(HandlerBoard.explain(board, 5).clause).toMatch(
      /^in progress are node "x{200,}" \(t\) of run run_1$/,
    )
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
