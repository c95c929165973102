/**
 * A variable of the environment, as what reads it and what speaks of it both need it.
 *
 * Leaves out: reading the environment; that is the configuration's.
 */

/** Reads a variable's text; `undefined` when it makes no sense. */
export type Read<A> = (text: string) => A | undefined

/** A setting's variable, and how its text is read. */
export interface Variable<A> {
  readonly name: string
  /** What the text should be, after "expected". */
  readonly expected: string
  readonly read: Read<A>
}

/** The variables of settings, by what they are called in code. */
export type Variables<S> = { readonly [K in keyof S]-?: Variable<S[K]> }
