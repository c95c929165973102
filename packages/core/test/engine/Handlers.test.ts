// What is said about a block of the event loop: how long it was, and whose handler it was.
import { RunId } from "@millrace/core/domain/Id"
import { Handlers } from "../../src/engine/internal/Handlers.ts"
import type { Watchdog } from "@millrace/core/ports/Watchdog"
import { assert, describe, it } from "@effect/vitest"

const run = RunId.make("run_1")
const called = (nodeId: string) => ({ runId: run, nodeId, nodeType: "compute" })
/** A handler that had control for so many seconds, from the first on. */
const worked = (handlers: Handlers, nodeId: string, length = 0n) => {
  const handler = handlers.begin(called(nodeId))
  handlers.enter(handler, second)
  handlers.leave(handler, second + length)
  return handler
}

const second = 1_000_000_000n

describe("Handlers.look", () => {
  it("names the handler that gave no control back, and no other one", () => {
    const handlers = new Handlers()
    worked(handlers, "idle")
    handlers.end(worked(handlers, "busy", 10n * second))
    assert.strictEqual(
      handlers.look(9_600),
      'The event loop was blocked for 10.0 s: node "busy" (compute) of run run_1 gave no control ' +
        "back meanwhile",
    )
    assert.isUndefined(handlers.look(0))
  })

  it("names all that were in progress where it cannot know which one it was", () => {
    const handlers = new Handlers()
    for (const nodeId of ["a", "b"]) worked(handlers, nodeId)
    handlers.end(worked(handlers, "c"))
    assert.strictEqual(
      handlers.look(3_000),
      'The event loop was blocked for 3.0 s: in progress were node "c" (compute) of run run_1, ' +
        'node "b" (compute) of run run_1, node "a" (compute) of run run_1',
    )
    assert.isUndefined(handlers.takeBlocked())
  })

  it("names five handlers and counts the others", () => {
    const handlers = new Handlers()
    for (let at = 0; at < 12; at++) worked(handlers, `n${at}`)
    const message = handlers.look(3_000) ?? ""
    assert.strictEqual(message.match(/ of run /g)?.length, 5)
    assert.isTrue(message.endsWith(", and 7 more"))
  })

  it("says nothing of what is over within a second", () => {
    const handlers = new Handlers()
    worked(handlers, "quick", second / 2n)
    assert.isUndefined(handlers.look(999))
    assert.isUndefined(handlers.takeBlocked())
  })
})

describe("Handlers.takeBlocked", () => {
  it("gives the run that has blocked the event loop, once", () => {
    const handlers = new Handlers()
    worked(handlers, "busy", 3n * second)
    assert.deepStrictEqual(handlers.takeBlocked(), { run, millis: 3_000 })
    assert.isUndefined(handlers.takeBlocked())
  })
})

describe("Handlers.begin", () => {
  it("tells the watchdog of every handler while it is in progress", () => {
    const told: Array<string> = []
    const watchdog: Watchdog = {
      began: ({ nodeId }) => told.push(`began ${nodeId}`),
      entered: (handler) => void told.push(`entered ${handler}`),
      left: (handler) => void told.push(`left ${handler}`),
      ended: (handler) => void told.push(`ended ${handler}`),
    }
    const handlers = new Handlers(watchdog)
    handlers.end(worked(handlers, "n"))
    assert.deepStrictEqual(told, ["began n", "entered 1", "left 1", "ended 1"])
  })
})

describe("Handlers.takeBlocked", () => {
  it("names the run that blocked for longest, also after a heartbeat that failed", () => {
    const handlers = new Handlers()
    worked(handlers, "long", 60n * second)
    const other = handlers.begin({ ...called("short"), runId: RunId.make("run_2") })
    handlers.enter(other, second)
    handlers.leave(other, 2n * second)
    const blocked = handlers.takeBlocked()
    assert.deepStrictEqual(blocked, { run, millis: 60_000 })
    assert.isUndefined(handlers.takeBlocked())
    handlers.blame(blocked!)
    assert.deepStrictEqual(handlers.takeBlocked(), { run, millis: 60_000 })
  })
})
