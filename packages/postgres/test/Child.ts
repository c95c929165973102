/**
 * Child processes that run a TypeScript file of the tests, and what they print.
 */
import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

/** A running child. */
export interface Child {
  readonly pid: number
  /** Everything it has printed so far, by lines; the last one may be incomplete. */
  readonly lines: () => ReadonlyArray<string>
  /** Waits until so many whole lines were printed. */
  readonly printed: (count: number) => Effect.Effect<ReadonlyArray<string>>
  readonly send: (line: string) => Effect.Effect<void>
  readonly kill: Effect.Effect<void>
}

const awaitExit = (child: ChildProcess): Promise<void> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => child.once("exit", () => resolve()))

/** Starts a file next to the tests; the scope's end kills it. */
export const start = (
  file: string,
  ...parameters: ReadonlyArray<string>
): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.gen(function* () {
    const path = fileURLToPath(new URL(file, import.meta.url))
    const options = ["--conditions=@millrace/source", path, ...parameters]
    const child = spawn(process.execPath, options, { stdio: ["pipe", "pipe", "inherit"] })
    let text = ""
    child.stdout.on("data", (data) => (text += String(data)))
    const kill = Effect.promise(() => {
      child.kill("SIGKILL")
      return awaitExit(child)
    })
    yield* Effect.addFinalizer(() => kill)
    const lines = () => text.split("\n")
    return {
      pid: child.pid ?? 0,
      lines,
      printed: (count) =>
        Effect.sync(() => lines().slice(0, -1)).pipe(
          Effect.tap(() => Effect.sleep("5 millis")),
          Effect.repeat({ until: (found) => found.length >= count || child.exitCode !== null }),
        ),
      send: (line) => Effect.sync(() => void child.stdin.write(`${line}\n`)),
      kill,
    }
  })
