/**
 * What an engine and its sandbox threads tell each other.
 */

/** One expression to compute, or to compile if it has no scope. */
export interface SandboxCall {
  readonly id: number
  /** Expressions of one key share what is compiled. */
  readonly key: string
  readonly text: string
  /** Variables of the expression besides `nodes`, `input`, `values` and `run`. */
  readonly names: ReadonlyArray<string>
  /** JSON text of an object. */
  readonly scope: string | undefined
}

/** What came of a call. */
export interface SandboxAnswer {
  readonly id: number
  /** `V` and JSON text, `U` for no value, or `E` and a message. */
  readonly answer: string
  /** Of an expression that cannot be compiled: where in its text, in characters from 0. */
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
}
