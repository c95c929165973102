// Messages to runs: which can be sent, and which tell of a child run.
import type { Message } from "@millrace/core/domain/Message"
import {
  childEndOf,
  problemOfMessage,
  problemOfName,
  problemOfSignal,
  signalMessage,
} from "@millrace/core/domain/Message"
import {
  messageBytes,
  messageIdLength,
  messageNameLength,
  signalNameLength,
} from "@millrace/core/domain/Limits"
import { assert, describe, it } from "@effect/vitest"

const text = (length: number) => "x".repeat(length)

describe("Message.problemOfMessage", () => {
  const message = { id: "m", name: "go", payload: null }

  it("takes ids, names and payloads up to their bounds", () => {
    assert.isUndefined(problemOfMessage(message))
    // With its quotes, the payload has as many bytes as it may.
    const payload = text(messageBytes - 2)
    const most = { id: text(messageIdLength), name: text(messageNameLength), payload }
    assert.isUndefined(problemOfMessage(most))
  })

  it("says which of them has no length, or too much of one", () => {
    const [id, name] = [messageIdLength + 1, messageNameLength + 1]
    const cases = [
      [{ id: "" }, `the id of a message has 0 characters; it must have 1 to ${messageIdLength}`],
      [
        { id: text(id) },
        `the id of a message has ${id} characters; it must have 1 to ${messageIdLength}`,
      ],
      [
        { name: "" },
        `the name of a message has 0 characters; it must have 1 to ${messageNameLength}`,
      ],
      [
        { name: text(name) },
        `the name of a message has ${name} characters; it must have 1 to ${messageNameLength}`,
      ],
      [
        { payload: text(messageBytes - 1) },
        `the payload of the message has ${messageBytes + 1} bytes as JSON; ` +
          `the limit is ${messageBytes}`,
      ],
    ] as const
    for (const [change, problem] of cases) {
      assert.strictEqual(problemOfMessage({ ...message, ...change }), problem)
    }
  })
})

describe("Message, by name", () => {
  it("is a signal under a name that is not too long, and never under one of the engine's", () => {
    assert.isUndefined(problemOfSignal(text(signalNameLength)))
    assert.isUndefined(problemOfName(signalMessage(text(signalNameLength))))
    for (const length of [0, signalNameLength + 1]) {
      const clause = `has ${length} characters; it must have 1 to ${signalNameLength}`
      assert.strictEqual(problemOfSignal(text(length)), `the name of a signal ${clause}`)
    }
    assert.strictEqual(signalMessage("child"), "signal:child")
  })

  it("tells of the end of a child, or of something else", () => {
    const payload = { runId: "run_1", index: 0, status: "FAILED", error: "no", credits: 1 }
    const message: Message = { number: 1, name: "child", payload, at: 0 }
    assert.deepStrictEqual<unknown>(childEndOf(message), payload)
    assert.isUndefined(childEndOf({ ...message, name: "signal:child" }))
  })
})
