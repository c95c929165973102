// Bodies of messages, with streams of Node in the place of its messages.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { HttpServerRequest } from "effect/http"
import { PassThrough } from "node:stream"
import type { Message } from "../src/internal/NodeBody.ts"
import { messageOf, read } from "../src/internal/NodeBody.ts"

const newMessage = () => new PassThrough() as PassThrough & Message

const textOf = (bytes: ArrayBuffer) => new TextDecoder().decode(bytes)

const requestOf = (source: object, headers: Readonly<Record<string, string>> = {}) =>
  ({ source, headers }) as HttpServerRequest.HttpServerRequest

/** Waits until a stream has told its listeners what it had to tell. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

describe("The body of a message", () => {
  it.effect("is one, however many pieces it comes in", () =>
    Effect.gen(function* () {
      const message = newMessage()
      const fiber = yield* Effect.forkChild(read(message, 100), { startImmediately: true })
      for (const piece of ['{"a"', ": 1", "}"]) {
        message.write(piece)
        yield* turn
      }
      message.end()
      assert.strictEqual(textOf(yield* Fiber.join(fiber)), '{"a": 1}')
    }),
  )

  it.effect("may be empty, and may be as large as the limit", () =>
    Effect.gen(function* () {
      for (const text of ["", "0123456789"]) {
        const message = newMessage()
        message.end(text)
        assert.strictEqual(textOf(yield* read(message, 10)), text)
      }
    }),
  )

  it.effect("is refused as soon as it is larger, and its rest is thrown away", () =>
    Effect.gen(function* () {
      const message = newMessage()
      message.write("01234567890")
      assert.strictEqual(yield* Effect.flip(read(message, 10)), "too large")
      message.end("x".repeat(1_000_000))
      while (!message.readableEnded) yield* turn
      assert.strictEqual(message.listenerCount("data"), 0)
    }),
  )

  it.effect("is incomplete if its client goes away or its connection fails", () =>
    Effect.gen(function* () {
      for (const error of [undefined, new Error("reset")]) {
        const message = newMessage()
        message.write("0123")
        const fiber = yield* Effect.forkChild(Effect.flip(read(message, 10)), {
          startImmediately: true,
        })
        yield* turn
        message.destroy(error)
        assert.strictEqual(yield* Fiber.join(fiber), "incomplete")
      }
    }),
  )

  it.effect("is not waited for by a request that is given up", () =>
    Effect.gen(function* () {
      const message = newMessage()
      const fiber = yield* Effect.forkChild(read(message, 10), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(message.destroyed)
      assert.deepStrictEqual(
        ["data", "end", "close", "error"].map((event) => message.listenerCount(event)),
        [0, 0, 0, 0],
      )
    }),
  )

  it("is left to the adapter where something comes before it, or it was read", () => {
    const message = newMessage()
    assert.strictEqual(messageOf(requestOf(message)), message)
    for (const headers of [{ expect: "100-continue" }, { upgrade: "websocket" }]) {
      assert.isUndefined(messageOf(requestOf(message, headers)))
    }
    message.destroy()
    assert.isUndefined(messageOf(requestOf(message)))
    assert.isUndefined(messageOf(requestOf(new Request("http://a.example", { method: "POST" }))))
  })
})
