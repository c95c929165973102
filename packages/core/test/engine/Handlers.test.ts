// What is said about a block of the event loop: how long it was, and whose handler it was.
import { RunId } from "@millrace/core/domain/Id"
import { Handlers } from "@millrace/core/engine/Handlers"
import type { Watchdog } from "@millrace/core/ports/Watchdog"
import { assert, describe, it } from "@effect/vitest"

const run = RunId.make("run_1")
const called = (nodeId: string) => ({ runId: run, nodeId, nodeType: "compute" })
const second = 1_000_000_000n

describe("Handlers.look", () => {
  it("names the handler that gave no control back, and no other one", () => {
    const handlers = new Handlers()
    const idle = handlers.call(called("idle"), 0n)
    handlers.returned(idle, 0n)
    const busy = handlers.call(called("busy"), second)
    handlers.returned(busy, 11n * second)
    handlers.end(busy)
    const block = handlers.look(9_600)
    assert.strictEqual(
      block?.message,
      'The event loop was blocked for 10.0 s: node "busy" (compute) of run run_1 gave no control ' +
        "back meanwhile",
    )
    assert.deepInclude(block?.by, { runId: run, nodeId: "busy", millis: 10_000 })
    assert.isUndefined(handlers.look(0))
  })

  it("names all that were in progress where it cannot know which one it was", () => {
    const handlers = new Handlers()
    for (const nodeId of ["a", "b"]) handlers.returned(handlers.call(called(nodeId), 0n), 0n)
    const done = handlers.call(called("c"), 0n)
    handlers.returned(done, 0n)
    handlers.end(done)
    const block = handlers.look(3_000)
    assert.isUndefined(block?.by)
    assert.strictEqual(
      block?.message,
      'The event loop was blocked for 3.0 s: in progress were node "c" (compute) of run run_1, ' +
        'node "b" (compute) of run run_1, node "a" (compute) of run run_1',
    )
  })

  it("names five handlers and counts the others", () => {
    const handlers = new Handlers()
    for (let at = 0; at < 12; at++) handlers.returned(handlers.call(called(`n${at}`), 0n), 0n)
    const { message = "" } = handlers.look(3_000) ?? {}
    assert.strictEqual(message.match(/ of run /g)?.length, 5)
    assert.isTrue(message.endsWith(", and 7 more"))
  })

  it("says nothing of what is over within a second", () => {
    const handlers = new Handlers()
    handlers.returned(handlers.call(called("quick"), 0n), second / 2n)
    assert.isUndefined(handlers.look(999))
  })
})

describe("Handlers.call", () => {
  it("tells the watchdog of every handler while it is in progress", () => {
    const told: Array<string> = []
    const watchdog: Watchdog = {
      called: (description) => told.push(`called ${description}`),
      returned: (handler) => void told.push(`returned ${handler}`),
      ended: (handler) => void told.push(`ended ${handler}`),
    }
    const handlers = new Handlers(watchdog)
    const handler = handlers.call(called("n"), 0n)
    handlers.returned(handler, 0n)
    handlers.end(handler)
    assert.deepStrictEqual(told, [
      'called node "n" (compute) of run run_1',
      "returned 1",
      "ended 1",
    ])
  })
})
