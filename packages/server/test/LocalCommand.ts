/**
 * A command within the process of the test: its arguments, its variables, what it prints and the
 * code that it ends with, without the second that a process takes to start.
 *
 * Leaves out: signals, and what a process adds: `Operators.test.ts` compares the two.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Console, Effect, Layer, Runtime, Stdio, Stream } from "effect"
import { format } from "node:util"
import { run } from "../src/internal/command/CommandLine.ts"

/** What a command came to. */
export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command that ends by itself, with this on its standard input. */
export const outcomeOf = async (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  input = "",
): Promise<Outcome> => {
  const out: Array<string> = []
  const err: Array<string> = []
  const console: Console.Console = Object.assign(Object.create(globalThis.console), {
    log: (...parts: ReadonlyArray<unknown>) => void out.push(format(...parts)),
    error: (...parts: ReadonlyArray<unknown>) => void err.push(format(...parts)),
  })
  const surroundings = Layer.mergeAll(
    NodeServices.layer,
    Stdio.layerTest({
      args: Effect.succeed(args),
      stdin: Stream.succeed(Buffer.from(input)),
    }),
    ConfigProvider.layer(ConfigProvider.fromEnvRecord({ NO_COLOR: "1", ...env })),
    Layer.succeed(Console.Console, console),
  )
  const exit = await Effect.runPromiseExit(Effect.provide(run, surroundings))
  return new Promise((resolve) => {
    Runtime.defaultTeardown(exit, (code) =>
      resolve({ code, out: out.join("\n").trimEnd(), err: err.join("\n").trimEnd() }),
    )
  })
}
