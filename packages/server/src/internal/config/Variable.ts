/**
 * How a user sets a setting: by an environment variable, or by a flag.
 *
 * Leaves out: reading the environment and the command line.
 */

/** Reads a text; `undefined` if it cannot be read. */
export type Read<A> = (text: string) => A | undefined

/** The flag of a setting: it takes a value, or its presence means a value. */
export interface FlagWords<A> {
  readonly name: string
  readonly description: string
  /** The name of the value in the help. */
  readonly metavar?: string
  /** The value that a flag without a value means. */
  readonly means?: A
  /** True: it may be given several times; the texts are joined by commas. */
  readonly isRepeated?: true
  /** How the flag's text is read; like the variable's if absent. */
  readonly read?: Read<A>
}

/** A setting's variable, and how its text is read. */
export interface Variable<A> {
  readonly name: string
  /** What the text should be, after "expected". */
  readonly expected: string
  readonly read: Read<A>
  /** True for an allowed value, from the variable or the flag; every value by default. */
  accepts?(this: void, value: A): boolean
  /** The message if neither flag nor variable is set and there is no default. */
  readonly missing?: string
  /** Absent if there is no flag. */
  readonly flag?: FlagWords<A>
}

/** The variables of settings, by the settings' names in code. */
export type Variables<S> = { readonly [K in keyof S]-?: Variable<S[K]> }
