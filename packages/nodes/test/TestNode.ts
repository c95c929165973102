/**
 * Runs one node by itself: the handler with a current node around it, as the engine would provide
 * it, and nothing else of the engine.
 */
import { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { Message } from "@millrace/core/domain/Message"
import type { NodeSettings } from "@millrace/core/domain/Workflow"
import type { KnownSecret } from "@millrace/core/engine/CurrentNode"
import { CurrentNode, Suspension } from "@millrace/core/engine/CurrentNode"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { Effect, Semaphore } from "effect"
import type { Job } from "@millrace/core/domain/Work"
import { Work } from "@millrace/core/domain/Work"
import { ComputePermit } from "../src/internal/ComputePermit.ts"

export interface Setting {
  readonly mode?: string
  /** The run's values. */
  readonly values?: JsonObject
  /** What the node left behind when it suspended itself. */
  readonly resumed?: Json
  /** The message that ended its wait. */
  readonly message?: Message
  /** The secrets of the run. */
  readonly confined?: ReadonlyArray<KnownSecret>
}

/** What comes of a job, done in one go and without a bound. */
export const done = <A>(begin: (work: Work) => Job<A>): A => {
  const job = begin(new Work(Number.POSITIVE_INFINITY))
  for (;;) {
    const step = job.next()
    if (step.done === true) return step.value
  }
}

/** A node's settings with these literals. */
export const settings = (inputs: JsonObject, mode?: string): NodeSettings => ({
  inputs,
  mode,
  version: undefined,
  label: undefined,
  disabled: false,
})

const current = (
  type: string,
  { confined = [], message, mode = "", resumed, values = {} }: Setting,
) =>
  CurrentNode.of({
    confined,
    accountId: AccountId.make("acc_1"),
    workflowId: WorkflowId.make("wf_1"),
    runId: RunId.make("run_1"),
    nodeId: "node",
    nodeType: type,
    mode,
    attempt: 1,
    idempotencyKey: "run_1:node",
    resumed,
    message,
    openChildren: 0,
    suspend: (wait, state, starts) => Effect.die(new Suspension(wait, state, starts)),
    prepareChild: () => Effect.die("a node that starts runs needs an engine"),
    isTurnOver: false,
    hasBody: false,
    children: () => Effect.die("a node that starts runs needs an engine"),
    approvalLink: () => Effect.die("a node that asks people needs an engine"),
    outputOfChild: () => Effect.die("a node that starts runs needs an engine"),
    values,
    watched: (call) => call(),
    charge: () => Effect.void,
    log: () => {},
  })

const permit = Semaphore.makeUnsafe(1)

/** The outputs of one execution. */
export const run = <R>(executable: Executable<R>, inputs: JsonObject, setting: Setting = {}) => {
  const node = current(executable.type.key, setting)
  const outputs = executable.run(inputs, settings(inputs, setting.mode), node)
  return outputs.pipe(
    Effect.provideService(CurrentNode, node),
    Effect.provideService(ComputePermit, permit),
  )
}

/** The sentence with which one execution fails. */
export const failing = <R>(executable: Executable<R>, inputs: JsonObject, setting: Setting = {}) =>
  Effect.map(Effect.flip(run(executable, inputs, setting)), (error) => error.message)

/** What the check of an input says of a value: the clauses that a start would be refused with. */
export const clauses = (executable: Executable<unknown>, port: string, value: Json) =>
  executable.type
    .portsOf(settings({ [port]: value }))
    .inputs.get(port)
    ?.check(value)

/** The names of a node's outputs under these literals. */
export const outputs = (executable: Executable<unknown>, inputs: JsonObject) => [
  ...executable.type.portsOf(settings(inputs)).outputs.keys(),
]

/** Parses text, so that keys like `__proto__` are own properties, as in a request's body. */
export const json = (text: string) => JSON.parse(text) as JsonObject

/** True while nobody has managed to change what every object inherits. */
export const isClean = () =>
  Reflect.ownKeys(Object.prototype).length === 12 && !("polluted" in {}) && !("polluted" in [])
