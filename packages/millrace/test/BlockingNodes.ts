/**
 * Node types that run on threads, for the tests: this module is imported there once more.
 */
import { defineNode, NodeError } from "millrace"
import { setTimeout } from "node:timers/promises"
import { isMainThread } from "node:worker_threads"
import { z } from "zod"

const blocking = import.meta.url

/** Computes without a pause, and tells when. */
export const busy = defineNode({
  type: "busy",
  blocking,
  inputs: { millis: z.number() },
  outputs: { isMainThread: z.boolean(), begun: z.number(), ended: z.number() },
  run: ({ credits, inputs, log }) => {
    const begun = Date.now()
    log.info("computing", { millis: inputs.millis })
    credits.add(1.5)
    while (Date.now() < begun + inputs.millis) Math.sqrt(begun)
    return { isMainThread, begun, ended: Date.now() }
  },
})

/** The names of variables that begin like this. */
export const variables = defineNode({
  type: "variables",
  blocking,
  inputs: { beginning: z.string() },
  outputs: { names: z.array(z.string()) },
  run: ({ inputs }) => ({
    names: Object.keys(process.env).filter((name) => name.startsWith(inputs.beginning)),
  }),
})

/** Ends its thread, as a crash in native code does. */
export const crashing = defineNode({
  type: "crashing",
  blocking,
  inputs: {},
  outputs: {},
  run: () => process.exit(3),
})

export const failing = defineNode({
  type: "failing",
  blocking,
  inputs: {},
  outputs: {},
  retry: { attempts: 5 },
  run: ({ log }) => {
    log.info("looking")
    throw new NodeError("the picture is broken", { retryable: false })
  },
})

export const overcharging = defineNode({
  type: "overcharging",
  blocking,
  inputs: {},
  outputs: {},
  run: ({ credits }) => credits.add(-1),
})

/** Takes memory until there is no more. */
export const greedy = defineNode({
  type: "greedy",
  blocking,
  inputs: {},
  outputs: {},
  run: () => {
    const taken: Array<ReadonlyArray<number>> = []
    for (;;) taken.push(Array.from<number>({ length: 1_000_000 }).fill(0.5))
  },
})

/** Leaves something running that speaks, charges and goes on after the handler is done. */
export const talkative = defineNode({
  type: "talkative",
  blocking,
  inputs: {},
  outputs: {},
  run: ({ credits, log }) => {
    globalThis.setInterval(() => {
      log.info("too late")
      credits.add(100)
    }, 1)
  },
})

/** Waits without computing. */
export const waiting = defineNode({
  type: "waiting",
  blocking,
  inputs: { millis: z.number() },
  outputs: {},
  run: async ({ inputs }) => {
    await setTimeout(inputs.millis)
    return {}
  },
})

/** A type that the thread will not find. */
export const hidden = () =>
  defineNode({ type: "hidden", blocking, inputs: {}, outputs: {}, run: () => {} })
