/**
 * What an engine and its sandbox threads tell each other.
 */

import type { LogLine } from "@millrace/core/domain/Run"

/** A line that code has written to its console. */
export type ConsoleLine = Pick<LogLine, "level" | "message">

/** One expression or code to compute, or to compile if it has no scope. */
export interface SandboxCall {
  readonly id: number
  /** Expressions of one key share what is compiled. */
  readonly key: string
  readonly text: string
  /** True for code: the body of a function with `inputs`, `input` and a console. */
  readonly isBody?: boolean
  /** Variables of an expression besides `nodes`, `input`, `values` and `run`. */
  readonly names: ReadonlyArray<string>
  /** JSON text of an object. */
  readonly scope: string | undefined
}

/** What came of a call. */
export interface SandboxAnswer {
  readonly id: number
  /** `V` and JSON text, `U` for no value, or `E` and a message. */
  readonly answer: string
  /** Of code that was executed. */
  readonly logs?: ReadonlyArray<ConsoleLine>
  /** Of a text that cannot be compiled: where in it, in characters from 0. */
  readonly at?: number | undefined
  /** Milliseconds that it took. */
  readonly millis: number
  readonly isLate: boolean
  /** True if the thread cannot be used again. */
  readonly isBroken?: true
}

/** The bounds of a sandbox thread. */
export interface SandboxBounds {
  readonly millis: number
  readonly megabytes: number
  /** Characters of JSON text of an answer. */
  readonly mostCharacters: number
  /** How many contexts are kept. */
  readonly contexts: number
  /** Lines that code may write to its console. */
  readonly logLines: number
  /** Characters of one of them. */
  readonly logLength: number
}

/** A time as a sentence has it. */
export const inWords = (millis: number): string =>
  millis < 1_000 ? `${millis} ms` : `${millis / 1_000} s`
