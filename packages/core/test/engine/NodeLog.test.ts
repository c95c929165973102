// The log of a node: bounded, and with whatever a handler writes as lines.
import { defaultLimits } from "@millrace/core/domain/Limits"
import type { LogLine } from "@millrace/core/domain/Run"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, References } from "effect"
import { NodeLog, nodeLogger } from "../../src/engine/internal/NodeLog.ts"

const full = "The log of this node is full; further lines are dropped"

const logOf = (limits = {}, earlier: ReadonlyArray<LogLine> | null = null) =>
  new NodeLog({ limits: { ...defaultLimits, ...limits }, attempt: 3, earlier }, () => 9)

const texts = (log: NodeLog) => log.close()?.map(({ message }) => message)

const old = (message: string): LogLine => ({ at: 1, level: "info", message, attempt: 1 })

describe("NodeLog", () => {
  it("keeps lines with their time, level, attempt and data", () => {
    const log = logOf()
    log.add("warn", "careful", { id: 7 })
    log.add("debug", "done")
    assert.deepStrictEqual(log.close(), [
      { at: 9, level: "warn", message: "careful", attempt: 3, data: { id: 7 } },
      { at: 9, level: "debug", message: "done", attempt: 3 },
    ])
  })

  it("is null where nothing was written", () => {
    assert.isNull(logOf().close())
  })

  it("leaves out data that is no JSON, and keeps the line", () => {
    const log = logOf()
    log.add("info", "odd", Number.NaN)
    log.add("info", "none", null)
    const [odd, none] = log.close()!
    assert.isFalse("data" in odd!)
    assert.strictEqual(none?.data, null)
  })

  it("keeps so many lines, of which the last says that there were more", () => {
    const log = logOf({ logLinesPerNode: 3 })
    for (const text of ["a", "b", "c", "d"]) log.add("info", text)
    assert.deepStrictEqual(texts(log), ["a", "b", full])
  })

  it("keeps so many bytes of messages and data, and then says so", () => {
    const log = logOf({ logBytesPerNode: 10 })
    log.add("info", "12345")
    log.add("info", "678", 90)
    log.add("info", "")
    log.add("info", "x")
    log.add("info", "")
    const lines = log.close()
    assert.deepStrictEqual(
      lines?.map(({ level, message }) => [level, message]),
      [
        ["info", "12345"],
        ["info", "678"],
        ["info", ""],
        ["warn", full],
      ],
    )
  })

  it("counts the lines and bytes of earlier attempts, and keeps them", () => {
    const earlier = [old("first"), { ...old("second"), data: 1 }]
    const lines = logOf({ logLinesPerNode: 4 }, earlier)
    for (const text of ["a", "b"]) lines.add("info", text)
    assert.deepStrictEqual(texts(lines), ["first", "second", "a", full])
    const bytes = logOf({ logBytesPerNode: 12 }, earlier)
    bytes.add("info", "x")
    assert.deepStrictEqual(texts(bytes), ["first", "second", full])
    const enough = logOf({ logBytesPerNode: 13 }, earlier)
    enough.add("info", "x")
    assert.deepStrictEqual(texts(enough), ["first", "second", "x"])
    assert.strictEqual(earlier.length, 2)
  })

  it("adds nothing to a log that was full before, nor after its end", () => {
    const log = logOf({ logLinesPerNode: 2 }, [old("a"), old(full)])
    log.add("info", "b")
    assert.deepStrictEqual(texts(log), ["a", full])
    const over = logOf()
    over.add("info", "in time")
    const lines = over.close()
    over.add("info", "too late")
    assert.strictEqual(lines?.length, 1)
  })
})

describe("what a handler logs with Effect", () => {
  /** The lines that an effect writes into the log of its node. */
  const linesOf = (effect: Effect.Effect<unknown>) =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const current = { log: (...line: ReadonlyArray<unknown>) => void lines.push(line) }
      yield* effect.pipe(
        Effect.provideService(CurrentNode, current as unknown as CurrentNode["Service"]),
        Effect.provideService(References.CurrentLoggers, new Set([nodeLogger])),
        Effect.provideService(References.MinimumLogLevel, "Trace"),
      )
      return lines
    })

  it.effect("goes to its node, by its level", () =>
    Effect.gen(function* () {
      const all = [
        Effect.logTrace("t"),
        Effect.logDebug("d"),
        Effect.log("l"),
        Effect.logInfo("i"),
        Effect.logWarning("w"),
        Effect.logError("e"),
        Effect.logFatal("f"),
      ]
      const lines = yield* linesOf(Effect.all(all))
      assert.deepStrictEqual(lines, [
        ["debug", "t", undefined],
        ["debug", "d", undefined],
        ["info", "l", undefined],
        ["info", "i", undefined],
        ["warn", "w", undefined],
        ["error", "e", undefined],
        ["error", "f", undefined],
      ])
    }),
  )

  it.effect("is joined to one message; objects of JSON become its data", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf(
        Effect.all([
          Effect.logInfo("a", 1, [2, "b"], null, true),
          Effect.logInfo("one", { id: 1 }),
          Effect.logInfo({ id: 1 }, "two", { id: 2 }),
          Effect.logInfo("odd", { value: Number.NaN }, new Date(0), 1n),
          Effect.logInfo({ id: 1 }),
        ]),
      )
      assert.deepStrictEqual(lines, [
        ["info", 'a 1 [2,"b"] null true', undefined],
        ["info", "one", { id: 1 }],
        ["info", "two", [{ id: 1 }, { id: 2 }]],
        ["info", `odd [object Object] ${String(new Date(0))} 1`, undefined],
        ["info", "", { id: 1 }],
      ])
    }),
  )

  it.effect("has the cause of a failure behind it", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf(Effect.logError("bad", Cause.fail(new Error("no luck"))))
      const [line] = lines as ReadonlyArray<ReadonlyArray<string>>
      assert.match(line?.[1] ?? "", /^bad .*no luck/)
    }),
  )

  it.effect("goes nowhere outside of a node", () =>
    Effect.provideService(
      Effect.logInfo("nobody"),
      References.CurrentLoggers,
      new Set([nodeLogger]),
    ),
  )
})
