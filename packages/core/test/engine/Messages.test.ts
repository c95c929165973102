// Nodes that wait for messages: early, late, twice, at the moment of parking, and after crashes.
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { messageBytes, messageMillis, messagesPerRun } from "@millrace/core/domain/Limits"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import type { Workflows } from "@millrace/core/engine/Workflows"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import type { Context } from "effect"
import { Clock, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, edge, Gates, node, nodeWith } from "./TestEngine.ts"
import { shared, start, types } from "./TestEngine.ts"

/** Waits for a message, for so long at most, and puts out what ended the wait. */
const wait = define({
  key: "wait",
  inputs: {
    input: Schema.optionalKey(Json),
    name: Schema.String,
    millis: Schema.optionalKey(Schema.Int),
    failures: Schema.optionalKey(Schema.Int),
  },
  outputs: { output: Json },
  retry: { attempts: 3, initialMillis: 200, jitter: 0 },
  run: Effect.fnUntraced(function* ({ failures = 0, millis, name }) {
    const { attempt, message, nodeId, resumed, suspend } = yield* CurrentNode
    const gates = yield* Gates
    gates.arrived.push(nodeId)
    const now = yield* Clock.currentTimeMillis
    if (resumed === undefined) {
      return yield* suspend({ for: name, until: millis && now + millis }, { since: now })
    }
    if (attempt <= failures) return yield* new NodeError({ message: "not yet" })
    return { output: message === undefined ? "time" : message.payload }
  }),
})

/** Waits for a message for ten seconds, and then for another one, for an hour as a rule. */
const twice = define({
  key: "twice",
  inputs: { name: Schema.String, millis: Schema.optionalKey(Schema.Int) },
  outputs: { output: Json },
  run: Effect.fnUntraced(function* ({ millis = 3_600_000, name }) {
    const { message, resumed, suspend } = yield* CurrentNode
    const now = yield* Clock.currentTimeMillis
    if (resumed === undefined) return yield* suspend({ for: name, until: now + 10_000 }, 1)
    if (resumed === 1) return yield* suspend({ for: name, until: now + millis }, 2)
    return { output: message?.payload ?? "time" }
  }),
})

const known = [...types, wait, twice]

const send = (id: RunId, name: string, payload: Json = name, key = `${name} ${payload}`) =>
  Effect.flatMap(Runs, (runs) => runs.send(account, id, { id: key, name, payload }))

const recordOf = (id: RunId) =>
  Effect.gen(function* () {
    const store = yield* RunStore
    return yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
  })

const outputOf = (id: RunId, nodeId = "w") =>
  Effect.map(recordOf(id), (record) => byNode(record)[nodeId]?.output?.["output"])

/** One process over a store of its own. */
const at = <A, E, R extends Runs | RunStore | Gates | Runner | Workflows>(
  effect: Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const { context, stop } = yield* boot(known)
    const result = yield* Effect.provideContext(effect, context as Context.Context<R>)
    yield* stop
    return result
  }).pipe(Effect.provide(shared())) as Effect.Effect<A, E>

/** A run that waits for the message "go", parked. */
const waiting = Effect.fnUntraced(function* (literals: { [input: string]: Json } = {}) {
  const { id } = yield* start([node("w", "wait", { name: "go", ...literals })])
  yield* TestClock.adjust(1)
  return id
})

describe("CurrentNode.suspend for a message", () => {
  it.effect("parks the run for as long as it takes, and goes on with the message at once", () =>
    Effect.gen(function* () {
      const id = yield* waiting()
      yield* TestClock.adjust("2 minutes")
      const { run } = yield* recordOf(id)
      assert.deepStrictEqual([run.owner, run.status, run.fence], [null, "RUNNING", 1])
      yield* send(id, "go", { by: "ada" })
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* outputOf(id), { by: "ada" })
      assert.strictEqual((yield* recordOf(id)).run.status, "COMPLETED")
    }).pipe(at),
  )

  it.effect("takes a message that came before anybody waited, and none of another name", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { id } = yield* start(
        [node("g", "gate"), node("w", "wait", { name: "go" }), node("x", "wait", { name: "go" })],
        [edge("g", "w"), edge("w", "x")],
      )
      yield* gates.untilArrived("g")
      yield* send(id, "stop")
      yield* send(id, "go", 1)
      yield* send(id, "go", 2)
      yield* gates.open("g")
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* outputOf(id), 1)
      const { run } = yield* recordOf(id)
      assert.strictEqual(run.status, "COMPLETED")
      assert.strictEqual(yield* outputOf(id, "x"), 2)
      // The gate, and one attempt of each node that waited, though both went on at once.
      assert.strictEqual(run.attempts, 3)
    }).pipe(at),
  )

  it.effect("is told that its time has passed, and leaves a later message to others", () =>
    Effect.gen(function* () {
      const id = yield* waiting({ millis: 60_000 })
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(yield* outputOf(id), "time")
      assert.strictEqual((yield* Effect.flip(send(id, "go")))._tag, "RunEnded")
    }).pipe(at),
  )

  it.effect(
    "takes the message that came in time, though nobody looked before its time passed",
    () =>
      Effect.gen(function* () {
        const first = yield* boot(known)
        const id = yield* Effect.provideContext(waiting({ millis: 60_000 }), first.context)
        yield* first.stop
        const store = yield* RunStore
        yield* TestClock.adjust("30 seconds")
        yield* store.send(account, id, { id: "m", name: "go", payload: "in time" })
        yield* TestClock.adjust("1 hour")
        const second = yield* boot(known)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* outputOf(id), "in time")
        yield* second.stop
      }).pipe(Effect.provide(shared())),
  )

  it.effect("takes no message that came after its time, though nobody looked before", () =>
    Effect.gen(function* () {
      const first = yield* boot(known)
      const { id } = yield* Effect.provideContext(
        start([
          node("w", "wait", { name: "go", millis: 60_000 }),
          node("k", "wait", { name: "end" }),
        ]),
        first.context,
      )
      yield* TestClock.adjust(1)
      yield* first.stop
      const store = yield* RunStore
      yield* TestClock.adjust("1 hour")
      yield* store.send(account, id, { id: "m", name: "go", payload: "too late" })
      const second = yield* boot(known)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outputOf(id), "time")
      const [inbox] = yield* store.inboxes([{ runId: id, after: 0, held: [] }])
      assert.strictEqual(inbox?.messages.length, 1)
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("waits for the second message as long as it says, whatever the first was to be", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { id } = yield* start([node("g", "gate"), node("w", "twice", { name: "go" })])
      yield* gates.untilArrived("g")
      yield* TestClock.adjust(1)
      yield* send(id, "go", 1)
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(byNode(yield* recordOf(id))["w"]?.status, "WAITING")
      yield* send(id, "go", 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outputOf(id), 2)
      yield* gates.open("g")
      yield* TestClock.adjust(1)
    }).pipe(at),
  )

  it.effect("waits for the second message no longer than it says, beside other nodes", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { id } = yield* start([
        node("g", "gate"),
        node("w", "twice", { name: "go", millis: 20_000 }),
      ])
      yield* gates.untilArrived("g")
      yield* TestClock.adjust(1)
      yield* send(id, "go", 1)
      yield* TestClock.adjust("19 seconds")
      assert.strictEqual(byNode(yield* recordOf(id))["w"]?.status, "WAITING")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* outputOf(id), "time")
      yield* gates.open("g")
      yield* TestClock.adjust(1)
    }).pipe(at),
  )

  it.effect("is woken while other nodes of its run are in progress", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { id } = yield* start([node("g", "gate"), node("w", "wait", { name: "go" })])
      yield* gates.untilArrived("g")
      yield* TestClock.adjust(1)
      yield* send(id, "go", 7)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outputOf(id), 7)
      yield* gates.open("g")
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* recordOf(id)).run.status, "COMPLETED")
    }).pipe(at),
  )

  it.effect("gives each message to one node, in the order in which they came", () =>
    Effect.gen(function* () {
      const { id } = yield* start([
        node("a", "wait", { name: "go" }),
        node("b", "wait", { name: "go" }),
        node("c", "wait", { name: "other" }),
      ])
      yield* TestClock.adjust(1)
      for (const payload of ["first", "second"]) yield* send(id, "go", payload)
      yield* send(id, "other", "third")
      yield* TestClock.adjust("1 second")
      const outputs = [yield* outputOf(id, "a"), yield* outputOf(id, "b"), yield* outputOf(id, "c")]
      assert.deepStrictEqual(outputs, ["first", "second", "third"])
    }).pipe(at),
  )

  it.effect("keeps its message over failed attempts and over a crash", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const first = yield* boot(known)
      const id = yield* Effect.provideContext(waiting({ failures: 2 }), first.context)
      yield* Effect.provideContext(send(id, "go", "kept"), first.context)
      yield* TestClock.adjust(1)
      yield* first.stop
      yield* TestClock.adjust(1)
      const second = yield* boot(known)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* outputOf(id), "kept")
      const row = byNode(yield* recordOf(id))["w"]
      assert.strictEqual(row?.attempt, 3)
      assert.strictEqual(gates.arrived.length, 4)
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )
})

/** A store to which something happens just before a commit of a run that waits for a message. */
const before = (
  place: number,
  happening: (store: RunStore["Service"], commit: RunCommit) => Effect.Effect<unknown, unknown>,
) =>
  Layer.effect(
    RunStore,
    Effect.gen(function* () {
      const store = yield* RunStore
      let count = 0
      return RunStore.of({
        ...store,
        commit: (commit) =>
          Effect.gen(function* () {
            if (commit.seen !== undefined && ++count === place) {
              yield* Effect.orDie(happening(store, commit))
            }
            return yield* store.commit(commit)
          }),
      })
    }),
  )

describe("A message that comes while its run is parked", () => {
  it.effect("is seen: the step is decided once more, and its node goes on at once", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const layer = before(1, (_, { run }) =>
        store.send(account, run.id, { id: "m", name: "go", payload: "just now" }),
      )
      const racing = yield* Layer.build(layer)
      const { context, stop } = yield* Effect.provideContext(boot(known), racing)
      const id = yield* Effect.provideContext(waiting({ millis: 3_600_000 }), context)
      assert.strictEqual(yield* outputOf(id), "just now")
      const { run } = yield* recordOf(id)
      assert.deepStrictEqual([run.status, run.fence, run.attempts], ["COMPLETED", 1, 1])
      yield* stop
    }).pipe(Effect.scoped, Effect.provide(shared())),
  )
})

describe("A message that comes at the very end of a wait", () => {
  it.effect("is taken, though the step that ends the wait by its time was decided", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const layer = before(2, (_, { run }) =>
        store.send(account, run.id, { id: "m", name: "go", payload: "just in time" }),
      )
      const racing = yield* Layer.build(layer)
      const { context, stop } = yield* Effect.provideContext(boot(known), racing)
      const id = yield* Effect.provideContext(waiting({ millis: 700 }), context)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outputOf(id), "just in time")
      yield* stop
    }).pipe(Effect.scoped, Effect.provide(shared())),
  )
})

describe("A run whose last message has expired", () => {
  it.effect("goes on: a step that saw nothing of that message is not refused for it", () =>
    Effect.gen(function* () {
      const first = yield* boot(known)
      const { id } = yield* Effect.provideContext(
        start([
          node("w", "wait", { name: "go", millis: 2 * messageMillis }),
          node("k", "wait", { name: "end" }),
        ]),
        first.context,
      )
      yield* TestClock.adjust(1)
      yield* Effect.provideContext(send(id, "other"), first.context)
      yield* TestClock.adjust(1)
      yield* first.stop
      yield* TestClock.adjust(3 * messageMillis)
      // Another number than that of the last message would be refused without an end.
      const layer = before(1, (_, { seen }) => Effect.sync(() => assert.strictEqual(seen, 1)))
      const second = yield* Effect.provideContext(boot(known), yield* Layer.build(layer))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outputOf(id), "time")
      yield* second.stop
    }).pipe(Effect.scoped, Effect.provide(shared())),
  )
})

describe("A run that a failure has stopped", () => {
  const stopping = start(
    [node("f", "fail", { message: "no" }), node("g", "gate"), node("w", "wait", { name: "go" })],
    [],
    { settings: { onFailure: "stop" } },
  )

  const checkLeft = Effect.fnUntraced(function* (id: RunId) {
    const store = yield* RunStore
    const gates = yield* Gates
    const [inbox] = yield* store.inboxes([{ runId: id, after: 0, held: [] }])
    assert.deepStrictEqual(
      inbox?.messages.map(({ name }) => name),
      ["go"],
    )
    yield* gates.open("g")
    yield* TestClock.adjust(1)
    const record = yield* recordOf(id)
    assert.deepStrictEqual([record.run.status, byNode(record)["w"]?.status], ["FAILED", "CANCELED"])
  })

  it.effect("takes no message, because nobody would be called with it", () =>
    Effect.gen(function* () {
      const { id } = yield* stopping
      yield* TestClock.adjust(1)
      yield* send(id, "go")
      yield* TestClock.adjust("1 second")
      yield* checkLeft(id)
    }).pipe(at),
  )

  it.effect("takes none either that comes with the failure", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const layer = before(1, (_, { run }) =>
        store.send(account, run.id, { id: "m", name: "go", payload: "just now" }),
      )
      const { context, stop } = yield* Effect.provideContext(boot(known), yield* Layer.build(layer))
      const { id } = yield* Effect.provideContext(stopping, context)
      yield* TestClock.adjust("1 second")
      yield* checkLeft(id)
      yield* stop
    }).pipe(Effect.scoped, Effect.provide(shared())),
  )
})

describe("Runs.send", () => {
  it.effect("makes one message of one id, and refuses what no run can be sent", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id } = yield* start([
        node("g", "wait", { name: "never" }),
        node("w", "wait", { name: "go" }),
      ])
      yield* TestClock.adjust(1)
      const sent = [yield* send(id, "go", 1, "m"), yield* send(id, "go", 2, "m")]
      assert.deepStrictEqual(sent, [1, 1])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outputOf(id), 1)
      assert.strictEqual(yield* send(id, "go", 3, "m"), 1)
      const message = { id: "x", name: "go", payload: null }
      const refused = [
        runs.send(AccountId.make("acc_other"), id, message),
        runs.send(account, RunId.make("run_unknown"), message),
        runs.send(account, id, { ...message, name: "" }),
        runs.send(account, id, { ...message, payload: "x".repeat(messageBytes) }),
      ]
      const tags: Array<string> = []
      for (const each of refused) tags.push((yield* Effect.flip(each))._tag)
      const expected = ["RunNotFound", "RunNotFound", "InvalidMessage", "InvalidMessage"]
      assert.deepStrictEqual(tags, expected)
      yield* runs.cancel(account, id)
      assert.strictEqual((yield* Effect.flip(runs.send(account, id, message)))._tag, "RunEnded")
    }).pipe(at),
  )

  it.effect("refuses more than an inbox holds until a node has taken one", () =>
    Effect.gen(function* () {
      const { id } = yield* start(
        [nodeWith("w", "wait", { name: "go" }, {}), node("last", "wait", { name: "end" })],
        [edge("w", "last.input")],
      )
      yield* TestClock.adjust(1)
      for (let n = 0; n < messagesPerRun; n++) yield* send(id, "x", n)
      assert.strictEqual((yield* Effect.flip(send(id, "go")))._tag, "InboxFull")
    }).pipe(at),
  )

  it.effect("lets a run that waits for two messages end when both have come, in any order", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id } = yield* start([
        node("a", "wait", { name: "left" }),
        node("b", "wait", { name: "right" }),
      ])
      const ended = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("5 seconds")
      yield* send(id, "right")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* recordOf(id)).run.owner, null)
      yield* send(id, "left")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(ended)).run.status, "COMPLETED")
    }).pipe(at),
  )
})
