/**
 * Port schemas for small languages (rules, steps, templates) whose shape is checked by hand:
 * recursive, with bounds, and with clauses that a user can act on.
 *
 * Guarantees: a value that decodes passed the check. Leaves out: transforming it.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import { issuesPerValue } from "@millrace/core/domain/Limits"
import { Schema } from "effect"

/** One thing wrong with a value, and where in it. */
export interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly issue: string
}

/** What people and forms are told about a port. */
export interface About {
  readonly description: string
  /** An approximation: what JSON Schema cannot say stays with the check. */
  readonly jsonSchema: JsonObject
}

/** A schema that accepts what `problemsOf` finds nothing against. */
export const checked = <A>(
  problemsOf: (value: unknown) => ReadonlyArray<Issue>,
  { description, jsonSchema }: About,
): Schema.Codec<A> => {
  const filter = Schema.makeFilter((value: unknown) => problemsOf(value).slice(0, issuesPerValue), {
    toJsonSchema: () => [jsonSchema, true],
  })
  return Schema.Any.check(filter).annotate({ description })
}

/** Moves issues below a key or an index. */
export const below = (
  issues: ReadonlyArray<Issue>,
  ...path: ReadonlyArray<string | number>
): ReadonlyArray<Issue> =>
  issues.map((each) => ({ path: [...path, ...each.path], issue: each.issue }))

/** An issue with the value as a whole. */
export const issue = (text: string): ReadonlyArray<Issue> => [{ path: [], issue: text }]

/** Names the keys of an object that mean nothing. */
export const unknownKeys = (
  object: JsonObject,
  known: ReadonlyArray<string>,
): ReadonlyArray<Issue> =>
  Object.keys(object)
    .filter((key) => !known.includes(key))
    .slice(0, issuesPerValue)
    .map((key) => ({ path: [key], issue: `expected only ${known.join(", ")}` }))

/** `all, any or not`. */
export const oneOf = (words: ReadonlyArray<string>): string =>
  words.length < 2
    ? (words[0] ?? "nothing")
    : `${words.slice(0, -1).join(", ")} or ${words[words.length - 1]}`
