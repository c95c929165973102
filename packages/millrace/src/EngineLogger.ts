/**
 * Where the lines of an engine's log go.
 *
 * Guarantees: a logger that throws ends nothing. Leaves out: what handlers log; that belongs to
 * their runs.
 */
import { Logger, LogLevel } from "effect"

/** A line of an engine's log. */
export interface LogEntry {
  /** How grave it is. */
  readonly level: "debug" | "info" | "warn" | "error"
  /** One sentence, or several in a line. */
  readonly message: string
  /** When it was written. */
  readonly time: Date
  /** What belongs to it, by name. */
  readonly fields: Readonly<Record<string, unknown>>
  /** The error that is behind it, as text with its stack. */
  readonly error?: string
}

/** Takes the lines of an engine's log. */
export type EngineLogger = (entry: LogEntry) => void

const stderr = Logger.withConsoleError(Logger.formatLogFmt)

/** A library prints nothing but warnings and errors. */
const warnings: Logger.Logger<unknown, void> = Logger.make((entry) => {
  if (LogLevel.isGreaterThanOrEqualTo(entry.logLevel, "Warn")) stderr.log(entry)
})

const levelOf = (level: LogLevel.LogLevel): LogEntry["level"] => {
  if (LogLevel.isGreaterThanOrEqualTo(level, "Error")) return "error"
  if (LogLevel.isGreaterThanOrEqualTo(level, "Warn")) return "warn"
  return LogLevel.isGreaterThanOrEqualTo(level, "Info") ? "info" : "debug"
}

const textOf = (part: unknown): string => {
  if (typeof part === "string") return part
  return part instanceof Error ? part.message : JSON.stringify(part)
}

/** The lines of the log, to a logger of the application; by default warnings to stderr. */
export const layerOf = (logger: EngineLogger | undefined) => {
  if (logger === undefined) return Logger.layer([warnings])
  const own: Logger.Logger<unknown, void> = Logger.make((entry) => {
    const { annotations, cause } = Logger.formatStructured.log(entry)
    const parts: ReadonlyArray<unknown> = Array.isArray(entry.message)
      ? entry.message
      : [entry.message]
    const error = parts.find((part) => part instanceof Error)
    const failure = cause ?? error?.stack
    const line: LogEntry = {
      level: levelOf(entry.logLevel),
      message: parts.map(textOf).join(" "),
      time: entry.date,
      fields: annotations,
      ...(failure === undefined ? {} : { error: failure }),
    }
    try {
      logger(line)
    } catch {
      // The engine goes on without its log.
    }
  })
  return Logger.layer([own])
}
