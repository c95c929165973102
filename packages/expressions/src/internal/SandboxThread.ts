/**
 * A thread that computes expressions or code, one after the other. `Pool` starts it as a worker;
 * nothing imports it.
 *
 * Guarantees: it never waits for anything but messages. If QuickJS itself fails, it says so, and is
 * ended.
 */
import { parentPort, workerData } from "node:worker_threads"
import { Sandbox } from "./Sandbox.ts"
import type { SandboxAnswer, SandboxBounds, SandboxCall } from "./SandboxWire.ts"

/**
 * QuickJS asks this thread for the local time. An expression must give the same on every machine,
 * so here it is always UTC.
 */
const toUtc = (): void => {
  const { prototype } = Date
  for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds"]) {
    const inUtc = Object.getOwnPropertyDescriptor(prototype, `getUTC${part}`)!
    Object.defineProperty(prototype, `get${part}`, inUtc)
  }
  prototype.getTimezoneOffset = () => 0
}

toUtc()
const sandbox = await Sandbox.load(workerData as SandboxBounds)

const answerTo = (call: SandboxCall): SandboxAnswer => {
  try {
    return sandbox.call(call, () => parentPort?.postMessage("begun", []))
  } catch (error) {
    const isDeep = error instanceof RangeError
    const answer = isDeep ? "Eit is nested too deeply" : "Ethe evaluator failed"
    return { id: call.id, answer, millis: 0, isLate: false, isBroken: true }
  }
}

parentPort?.on("message", (call: SandboxCall) => parentPort?.postMessage(answerTo(call), []))
parentPort?.postMessage("ready", [])
