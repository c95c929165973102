/**
 * A setting as it is said: by a variable of the environment, or by a flag.
 *
 * Leaves out: reading the environment and the command line.
 */

/** Reads a text; `undefined` when it makes no sense. */
export type Read<A> = (text: string) => A | undefined

/** The flag of a setting: with a value, or one that means a value by being there. */
export interface FlagWords<A> {
  readonly name: string
  readonly description: string
  /** What stands for the value. */
  readonly metavar?: string
  /** What the flag means where it has no value. */
  readonly means?: A
  /** How what is typed is read, where not as the variable. */
  readonly read?: Read<A>
}

/** A setting's variable, and how its text is read. */
export interface Variable<A> {
  readonly name: string
  /** What the text should be, after "expected". */
  readonly expected: string
  readonly read: Read<A>
  /** True for a value that is possible, from the variable or the flag; any by default. */
  accepts?(this: void, value: A): boolean
  /** What to say where nothing is said and there is no default. */
  readonly missing?: string
  /** Absent where the variable alone says it. */
  readonly flag?: FlagWords<A>
}

/** The variables of settings, by what they are called in code. */
export type Variables<S> = { readonly [K in keyof S]-?: Variable<S[K]> }
