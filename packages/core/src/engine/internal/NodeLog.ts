/**
 * The log of one node run: bounded lines, kept in memory until the node finishes. `Effect.log` and
 * its kin inside a handler end here, through {@link nodeLogger}, and nowhere else.
 *
 * Guarantees: never more lines or bytes than the limits say, however much a handler writes.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Logger from "effect/Logger"
import { isJsonObject, problemOf } from "../../domain/Json.ts"
import type { Json } from "../../domain/Json.ts"
import type { Limits } from "../../domain/Limits.ts"
import type { LogLine } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import { CurrentNode } from "../CurrentNode.ts"

const sizeOf = (message: string, data: Json | undefined): number =>
  message.length + (data === undefined ? 0 : JSON.stringify(data).length)

/** Puts something else in the place of secrets. */
interface Mask {
  readonly text: (text: string) => string
  readonly json: (value: Json) => Json
}

/** What a log needs to know of its attempt. */
export interface Logged {
  readonly limits: Limits
  readonly attempt: number
  /** The lines of earlier attempts; they count against the same limits. */
  readonly earlier: ReadonlyArray<LogLine> | null
  /** Masks secrets. */
  readonly secrets?: Mask | undefined
}

/** Collects the lines of one node run. */
export class NodeLog {
  readonly #limits: Limits
  readonly #attempt: number
  readonly #now: () => Timestamp
  readonly #secrets: Logged["secrets"]
  readonly #lines: Array<LogLine>
  #bytes = 0
  #full: boolean

  constructor({ attempt, earlier, limits, secrets }: Logged, now: () => Timestamp) {
    this.#limits = limits
    this.#attempt = attempt
    this.#secrets = secrets
    this.#now = now
    this.#lines = earlier === null ? [] : [...earlier]
    for (const { data, message } of this.#lines) this.#bytes += sizeOf(message, data)
    this.#full = this.#lines.length >= limits.logLinesPerNode
  }

  /** Adds a line, or drops it once the log is full; the last line kept then says so. */
  add(level: LogLine["level"], message: string, data?: Json): void {
    if (this.#full) return
    const hasData = problemOf(data) === undefined
    const size = sizeOf(message, hasData ? data : undefined)
    const { logBytesPerNode, logLinesPerNode } = this.#limits
    this.#full = this.#lines.length + 1 >= logLinesPerNode || this.#bytes + size > logBytesPerNode
    if (this.#full) {
      this.#push("warn", "The log of this node is full; further lines are dropped")
      return
    }
    this.#bytes += size
    const text = this.#secrets?.text(message) ?? message
    const value = hasData ? data : undefined
    this.#push(level, text, value === undefined ? value : (this.#secrets?.json(value) ?? value))
  }

  /** The lines so far, `null` when there are none. What comes later belongs to nobody. */
  close(): ReadonlyArray<LogLine> | null {
    this.#full = true
    return this.#lines.length === 0 ? null : this.#lines
  }

  #push(level: LogLine["level"], message: string, data?: Json): void {
    const line = { at: this.#now(), level, message, attempt: this.#attempt }
    this.#lines.push(data === undefined ? line : { ...line, data })
  }
}

const levels: { readonly [level: string]: LogLine["level"] } = {
  Trace: "debug",
  Debug: "debug",
  Info: "info",
  Warn: "warn",
  Error: "error",
  Fatal: "error",
}

const textOf = (part: unknown): string => {
  if (typeof part === "string") return part
  return problemOf(part) === undefined ? JSON.stringify(part) : String(part)
}

const isData = (part: unknown): part is Json => isJsonObject(part) && problemOf(part) === undefined

/** Writes what a handler logs into its own node's log. Of several parts, objects become `data`. */
export const nodeLogger: Logger.Logger<unknown, void> = Logger.make(
  ({ cause, fiber, logLevel, message }) => {
    const current = Context.getOrUndefined(fiber.context, CurrentNode)
    if (current === undefined) return
    const parts = message as ReadonlyArray<unknown>
    const data = parts.filter(isData)
    const words = parts.filter((part) => !isData(part)).map(textOf)
    if (cause.reasons.length > 0) words.push(Cause.pretty(cause))
    const level = levels[logLevel] ?? "info"
    current.log(level, words.join(" "), data.length > 1 ? data : data[0])
  },
)
