// The engine on the in-memory store with a handful of node types, for the tests in this folder.
import type { NodeRun, RunRecord } from "@millrace/core/domain/Run"
import { nodeRunsOf } from "@millrace/core/domain/Run"
import type { RunId } from "@millrace/core/domain/Id"
import { AccountId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import type { Edge, Node, Workflow, WorkflowSettings } from "@millrace/core/domain/Workflow"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { withoutWebhooks } from "@millrace/core/engine/Engine"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import { Ids } from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { NodeTypes, NodeTypeSet } from "@millrace/core/engine/NodeTypes"
import { Runner } from "@millrace/core/engine/Runner"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import type { StartRequest } from "@millrace/core/engine/Runs"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as Memory from "@millrace/memory/Stores"
import { Clock, Context, Deferred, Effect, Exit, Layer, Schema, Scope } from "effect"
import { Digest } from "effect/crypto"
import { createHash } from "node:crypto"

export const account = AccountId.make("acc_test")

/** Lets a test hold a `gate` node at its execution and see which ones arrived. */
export class Gates extends Context.Service<
  Gates,
  {
    readonly arrived: Array<string>
    readonly interrupted: Array<string>
    readonly open: (nodeId: string) => Effect.Effect<void>
    readonly pass: (nodeId: string) => Effect.Effect<void>
    readonly untilArrived: (nodeId: string) => Effect.Effect<void>
  }
>()("test/Gates") {
  static readonly layer = Layer.sync(Gates, () => {
    const doors = new Map<string, { at: Deferred.Deferred<void>; open: Deferred.Deferred<void> }>()
    const door = (nodeId: string) => {
      const known = doors.get(nodeId)
      if (known !== undefined) return known
      const made = { at: Deferred.makeUnsafe<void>(), open: Deferred.makeUnsafe<void>() }
      doors.set(nodeId, made)
      return made
    }
    const arrived: Array<string> = []
    const interrupted: Array<string> = []
    return Gates.of({
      arrived,
      interrupted,
      open: (nodeId) => Effect.asVoid(Deferred.succeed(door(nodeId).open, undefined)),
      untilArrived: (nodeId) => Deferred.await(door(nodeId).at),
      pass: (nodeId) =>
        Effect.gen(function* () {
          arrived.push(nodeId)
          yield* Deferred.succeed(door(nodeId).at, undefined)
          yield* Deferred.await(door(nodeId).open)
        }).pipe(Effect.onInterrupt(() => Effect.sync(() => interrupted.push(nodeId)))),
    })
  })
}

const inputs = { input: Schema.optionalKey(Json), other: Schema.optionalKey(Json) }
const outputs = { output: Schema.optionalKey(Json) }

/** Passes on what arrives, or `null`. */
const pass = define({
  key: "pass",
  inputs,
  outputs,
  run: ({ input = null }) => Effect.succeed({ output: input }),
})

/** One input, one output: what arrives is passed on. */
const relay = define({
  key: "relay",
  inputs: { input: Json },
  outputs: { output: Json },
  run: ({ input }) => Effect.succeed({ output: input }),
})

/** Passes on all that arrives, as an array. */
const gather = define({
  key: "gather",
  inputs: { input: Schema.Array(Json) },
  multiple: ["input"],
  outputs: { output: Json },
  run: ({ input }) => Effect.succeed({ output: input }),
})

/** Waits until the test opens it. */
const gate = define({
  key: "gate",
  inputs,
  outputs,
  run: Effect.fnUntraced(function* ({ input = null }) {
    const current = yield* CurrentNode
    const gates = yield* Gates
    yield* gates.pass(current.nodeId)
    return { output: input }
  }),
})

/** Takes the port its literal names, or none. */
const branch = define({
  key: "branch",
  inputs: { input: Schema.optionalKey(Json), take: Schema.optionalKey(Schema.String) },
  outputs: { yes: Schema.optionalKey(Json), no: Schema.optionalKey(Json) },
  run: ({ input = null, take }) => Effect.succeed(take === undefined ? {} : { [take]: input }),
})

const add = define({
  key: "add",
  inputs: { left: Schema.Finite, right: Schema.Finite },
  outputs: { output: Schema.Finite },
  credits: 2,
  run: ({ left, right }) => Effect.succeed({ output: left + right }),
})

const fail = define({
  key: "fail",
  inputs: { ...inputs, message: Schema.String },
  outputs,
  run: ({ message }) => Effect.fail(new NodeError({ message })),
})

const crash = define({
  key: "crash",
  inputs,
  outputs,
  run: () => Effect.die(new TypeError("handler bug")),
})

const talk = define({
  key: "talk",
  inputs,
  outputs,
  run: Effect.fnUntraced(function* () {
    const current = yield* CurrentNode
    yield* Effect.logInfo("hello", { from: current.nodeId })
    yield* Effect.logError("careful")
    yield* current.charge(1.5)
    yield* current.charge(0.25)
    return { output: current.idempotencyKey }
  }),
})

/** Hands its own results over unchecked, as a handler from outside the type system would. */
const wild = define({
  key: "wild",
  inputs: { kind: Schema.String },
  outputs: { output: Json },
  run: ({ kind }) => Effect.succeed((wildOutputs[kind] ?? (() => ({})))() as { output: Json }),
})

const cyclic = () => {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}

const wildOutputs: { readonly [kind: string]: () => unknown } = {
  undeclared: () => ({ output: 1, extra: 2 }),
  bigint: () => ({ output: 1n }),
  nan: () => ({ output: { deep: [Number.NaN] } }),
  date: () => ({ output: new Date(0) }),
  cyclic: () => ({ output: cyclic() }),
  big: () => ({ output: "x".repeat(200_000) }),
  list: () => [1],
  nothing: () => undefined,
}

/** Tries to change what it was given, and logs after it has returned. */
const rude = define({
  key: "rude",
  inputs,
  outputs,
  run: Effect.fnUntraced(function* ({ input }) {
    const current = yield* CurrentNode
    yield* Effect.sync(() => {
      ;(input as { list: Array<number> }).list.push(2)
    }).pipe(Effect.catchDefect(() => Effect.void))
    queueMicrotask(() => current.log("info", "too late"))
    current.log("info", "in time")
    return { output: input ?? null }
  }),
})

const pricey = define({
  key: "pricey",
  inputs,
  outputs,
  credits: () => Number.NaN,
  run: () => Effect.succeed({}),
})

/** Fails as often as it is told to, charging for each attempt, then passes on what arrives. */
const flaky = define({
  key: "flaky",
  inputs: {
    ...inputs,
    failures: Schema.Int,
    retryable: Schema.optionalKey(Schema.Boolean),
    retryAfterMillis: Schema.optionalKey(Schema.Int),
  },
  outputs,
  run: Effect.fnUntraced(function* ({ failures, input = null, ...error }) {
    const { attempt, charge, idempotencyKey, log } = yield* CurrentNode
    yield* charge(1)
    log("info", `attempt ${attempt} of ${idempotencyKey}`)
    if (attempt > failures) return { output: input }
    return yield* new NodeError({ message: `failure ${attempt}`, ...error })
  }),
})

/** Takes its time, and says in the gates when it is interrupted. */
const sleepy = define({
  key: "sleepy",
  inputs: { ...inputs, millis: Schema.Int },
  outputs,
  run: Effect.fnUntraced(function* ({ input = null, millis }) {
    const { log, nodeId } = yield* CurrentNode
    const gates = yield* Gates
    gates.arrived.push(nodeId)
    log("info", "asleep")
    yield* Effect.onInterrupt(Effect.sleep(millis), () =>
      Effect.sync(() => gates.interrupted.push(nodeId)),
    )
    return { output: input }
  }),
})

/** Ignores every attempt to interrupt it. */
const stubborn = define({
  key: "stubborn",
  inputs,
  outputs,
  run: () => Effect.uninterruptible(Effect.never),
})

/** As a gate, but must never be called twice. */
const once = define({
  key: "once",
  delivery: "at-most-once",
  inputs,
  outputs,
  run: Effect.fnUntraced(function* ({ input = null }) {
    const { nodeId } = yield* CurrentNode
    yield* Effect.flatMap(Gates, (gates) => gates.pass(nodeId))
    return { output: input }
  }),
})

/** Suspends itself for as long as its literal says, once, and charges before and after. */
const nap = define({
  key: "nap",
  inputs: { ...inputs, millis: Schema.Int },
  outputs,
  run: Effect.fnUntraced(function* ({ input = null, millis }) {
    const { charge, log, nodeId, resumed, suspend } = yield* CurrentNode
    const gates = yield* Gates
    gates.arrived.push(nodeId)
    yield* charge(1)
    if (resumed === undefined) {
      log("info", "good night")
      const until = (yield* Clock.currentTimeMillis) + millis
      return yield* suspend({ until }, { slept: millis })
    }
    log("info", "good morning")
    return { output: { input, resumed } }
  }),
})

const request = define({
  key: "request",
  role: "request",
  inputs: { fields: Schema.optionalKey(Json) },
  outputs: { values: Json },
  run: Effect.fnUntraced(function* () {
    const current = yield* CurrentNode
    return { values: current.values }
  }),
})

const response = define({
  key: "response",
  role: "response",
  inputs: { input: Schema.optionalKey(Json), name: Schema.optionalKey(Schema.String) },
  outputs: {},
  run: () => Effect.succeed({}),
})

export const types: ReadonlyArray<Executable<Gates>> = [
  pass,
  relay,
  gather,
  gate,
  branch,
  add,
  fail,
  crash,
  talk,
  wild,
  rude,
  pricey,
  flaky,
  sleepy,
  stubborn,
  once,
  nap,
  request,
  response,
]

/** The usual timing of a runner. */
export const runnerOptions = {
  leaseMillis: 30_000,
  pollMillis: 500,
  claimLimit: 100,
  graceMillis: 10_000,
  lagMillis: 250,
}

/**
 * Everything the engine is made of, on one in-memory store. A new one per call. At its end it waits
 * for no handler: a test that fails would wait for ever.
 */
export const engine = (known = types) =>
  Layer.mergeAll(Workflows.layer, Runs.layer, Keys.layer).pipe(
    Layer.provide([withoutWebhooks(), Digest.layerWebCrypto]),
    Layer.provideMerge(Runner.layer),
    Layer.provide(Layer.succeed(CurrentRunnerOptions, { ...runnerOptions, graceMillis: 0 })),
    Layer.provide(GraphCache.layer),
    Layer.provideMerge(NodeTypes.layer(...known)),
    Layer.provideMerge(Layer.mergeAll(Memory.layer, Ids.layerSequential, Gates.layer)),
  )

const hash = (data: Uint8Array) => createHash("sha256").update(data)

/** Hashes at once, because the test's clock waits for nothing real. */
export const digest = Layer.succeed(Digest.Digest, {
  digest: (_, data) => Effect.sync(() => new Uint8Array(hash(data).digest())),
  digestHex: (_, data) => Effect.sync(() => hash(data).digest("hex")),
})

/** What several processes share: the store, the identities and the gates of the test. */
export const shared = () => Layer.mergeAll(Memory.layer, Ids.layerSequential, Gates.layer)

const refusing = withoutWebhooks()

type Types = ReadonlyArray<Executable<Gates>> | NodeTypeSet<Executable<Gates>>

/** One process: an engine of its own over the shared store, with these node types. */
const processOf = (known: Types, targets: typeof refusing) =>
  Layer.mergeAll(Workflows.layer, Runs.layer).pipe(
    Layer.provide(targets),
    Layer.provideMerge(Runner.layer),
    Layer.provide(GraphCache.layer),
    Layer.provide(
      known instanceof NodeTypeSet ? NodeTypes.layerOf(known) : NodeTypes.layer(...known),
    ),
  )

/** Starts a process over the shared store. It runs until it is stopped. */
export const boot = Effect.fnUntraced(function* (known: Types = types, targets = refusing) {
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(Layer.fresh(processOf(known, targets)), scope)
  return { context, stop: Scope.close(scope, Exit.void) }
})

/** A node with literals and whatever else its data is to say. */
export const nodeWith = (
  id: string,
  type: string,
  literals: { [input: string]: Json },
  data: { [key: string]: Json },
): Node => ({ id, type, position: { x: 0, y: 0 }, data: { inputs: literals, ...data } })

/** A node at a place that follows from its id, so that the order of nodes is stable. */
export const node = (id: string, type: string, literals?: { [input: string]: Json }): Node => ({
  id,
  type,
  position: { x: 0, y: 0 },
  ...(literals === undefined ? {} : { data: { inputs: literals } }),
})

/** `edge("a.yes", "b.input")`; without a port the default one is meant. */
export const edge = (from: string, to: string): Edge => {
  const [source = "", sourceHandle] = from.split(".")
  const [target = "", targetHandle] = to.split(".")
  return {
    id: `${from}-${to}`,
    source,
    target,
    ...(sourceHandle === undefined ? {} : { sourceHandle }),
    ...(targetHandle === undefined ? {} : { targetHandle }),
  }
}

export const save = (
  nodes: ReadonlyArray<Node>,
  edges: ReadonlyArray<Edge> = [],
  settings: WorkflowSettings = {},
): Effect.Effect<Workflow, unknown, Workflows> =>
  Effect.flatMap(Workflows, (workflows) =>
    workflows.create(account, {
      name: "Test",
      description: null,
      thumbnailUrl: null,
      nodes,
      edges,
      settings,
    }),
  )

/** Saves and starts a workflow. */
export const start = (
  nodes: ReadonlyArray<Node>,
  edges: ReadonlyArray<Edge> = [],
  request: Omit<StartRequest, "workflowId"> & { readonly settings?: WorkflowSettings } = {},
) =>
  Effect.gen(function* () {
    const runs = yield* Runs
    const { id } = yield* save(nodes, edges, request.settings)
    return yield* runs.start(account, { workflowId: id, ...request })
  })

/** Saves and starts a workflow, and waits for its end. */
export const run = (...parameters: Parameters<typeof start>) =>
  Effect.gen(function* () {
    const runs = yield* Runs
    const { id } = yield* start(...parameters)
    return yield* runs.wait(account, id)
  })

/** The run of the test's account, as it is stored. */
export const runOf = (id: RunId) =>
  Effect.map(
    Effect.flatMap(
      RunStore.use((store) => store.find(account, id)),
      Effect.fromOption,
    ),
    ({ run }) => run,
  )

/** The node runs of a record by node id, those that were not reached included. */
export const byNode = (record: RunRecord): { readonly [nodeId: string]: NodeRun } =>
  Object.fromEntries(nodeRunsOf(record).map((each) => [each.nodeId, each]))
