/**
 * The log of a node: filtered, as a file, and by attempts.
 *
 * Guarantees: pure, linear in lines. Leaves out: reading logs.
 */
import type { NodeRun } from "@millrace/api/PromiseClient"

/** One line of a log. */
export type LoggedLine = NonNullable<NodeRun["logs"]>[number]

/** The levels, from the least to the most important. */
export const logLevels = ["debug", "info", "warn", "error"] as const

/** A level of a log. */
export type LogLevel = LoggedLine["level"]

/** Which lines to show. */
export interface LogFilter {
  /** The least important level that is shown. */
  readonly level: LogLevel
  /** A part of the message or of the data, in any case. */
  readonly text: string
}

const dataOf = ({ data }: LoggedLine): string => (data === undefined ? "" : JSON.stringify(data))

/** The lines that a filter lets through, in order. */
export const filteredLog = (
  lines: ReadonlyArray<LoggedLine>,
  { level, text }: LogFilter,
): ReadonlyArray<LoggedLine> => {
  const least = logLevels.indexOf(level)
  const wanted = text.trim().toLowerCase()
  return lines.filter(
    (line) =>
      logLevels.indexOf(line.level) >= least &&
      (wanted === "" || `${line.message} ${dataOf(line)}`.toLowerCase().includes(wanted)),
  )
}

/** The lines as a text file: time in UTC, level, attempt, message, data. */
export const logText = (lines: ReadonlyArray<LoggedLine>): string =>
  lines
    .map((line) => {
      const { at, attempt, level, message } = line
      return [at, level.toUpperCase().padEnd(5), `#${attempt}`, message, dataOf(line)]
        .filter((part) => part !== "")
        .join(" ")
    })
    .map((line) => `${line}\n`)
    .join("")

/** What a log tells of an attempt. */
export interface LoggedAttempt {
  readonly attempt: number
  /** The times of its first and last line, ISO 8601. */
  readonly from: string
  readonly to: string
  readonly lines: number
  /** The last error that it logged. */
  readonly error: string | undefined
}

/** The attempts that left lines, in order. */
export const attemptsOf = (lines: ReadonlyArray<LoggedLine>): ReadonlyArray<LoggedAttempt> =>
  [...Map.groupBy(lines, ({ attempt }) => attempt)]
    .filter(([attempt]) => attempt > 0)
    .toSorted(([left], [right]) => left - right)
    .map(([attempt, own]) => ({
      attempt,
      from: own[0]!.at,
      to: own.at(-1)!.at,
      lines: own.length,
      error: own.findLast(({ level }) => level === "error")?.message,
    }))
