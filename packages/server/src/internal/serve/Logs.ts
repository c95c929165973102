/**
 * The log of `millrace serve`, on standard output: lines for people on a terminal, and one JSON
 * object per line everywhere else.
 *
 * Leaves out: what other commands print.
 */
import type { LogLevel } from "effect"
import { Effect, Layer, Logger, References, Stdio } from "effect"

/** Logs from a level on. */
export const layer = (level: LogLevel.LogLevel): Layer.Layer<never, never, Stdio.Stdio> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const isTerminal = yield* (yield* Stdio.Stdio).stdoutIsTerminal
      return Layer.merge(
        Logger.layer([isTerminal ? Logger.consolePretty() : Logger.consoleJson]),
        Layer.succeed(References.MinimumLogLevel, level),
      )
    }),
  )
