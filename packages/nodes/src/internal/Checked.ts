/**
 * Port schemas for rules, steps and templates. Their form is checked by functions, because it is
 * recursive and bounded, and because the messages should tell a user what to change.
 *
 * Guarantees: a decoded value has passed the check. Leaves out: transforming values.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import { issuesPerValue } from "@millrace/core/domain/Limits"
import { Schema } from "effect"

/** A problem of a value, and its place in the value. */
export interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly issue: string
}

/** The description of a port, for people and for forms. */
export interface About {
  readonly description: string
  /** An approximation. Only the check is exact. */
  readonly jsonSchema: JsonObject
}

/** A schema that accepts the values without problems. */
export const checked = <A>(
  problemsOf: (value: unknown) => ReadonlyArray<Issue>,
  { description, jsonSchema }: About,
): Schema.Codec<A> => {
  const filter = Schema.makeFilter((value: unknown) => problemsOf(value).slice(0, issuesPerValue), {
    toJsonSchema: () => [jsonSchema, true],
  })
  return Schema.Any.check(filter).annotate({ description })
}

/** Puts a key or an index before the path of each issue. */
export const below = (
  issues: ReadonlyArray<Issue>,
  ...path: ReadonlyArray<string | number>
): ReadonlyArray<Issue> =>
  issues.map((each) => ({ path: [...path, ...each.path], issue: each.issue }))

/** An issue with the value as a whole. */
export const issue = (text: string): ReadonlyArray<Issue> => [{ path: [], issue: text }]

/** An issue for each unknown key of an object. */
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
