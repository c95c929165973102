/**
 * Paths into JSON: `user.name`, `items[0].id`, `headers["x.y"]`.
 *
 * Guarantees: a path reads only own properties of objects and elements of arrays: no prototype, no
 * `length`, no characters of a text. Reading and parsing take linear time. Leaves out: writing.
 */
import type { Json } from "./Json.ts"
import { isJsonObject } from "./Json.ts"
import { pathLength } from "./Limits.ts"

/** The keys and indexes to follow, outermost first. */
export type Path = ReadonlyArray<string>

const whole = /^(?:[^.[\]]+|\[\d+\]|\["[^"]*"\])(?:\.[^.[\]]+|\[\d+\]|\["[^"]*"\])*$/
const step = /\["([^"]*)"\]|\[(\d+)\]|([^.[\]]+)/g
const index = /^(?:0|[1-9]\d*)$/

/** Parses a path; `undefined` if the text is not a path. */
export const parsePath = (text: string): Path | undefined =>
  text.length <= pathLength && whole.test(text)
    ? Array.from(text.matchAll(step), (match) => match[1] ?? match[2] ?? match[3] ?? "")
    : undefined

const child = (value: Json, key: string): Json | undefined => {
  if (Array.isArray(value)) {
    return index.test(key) ? (value as ReadonlyArray<Json>)[Number(key)] : undefined
  }
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** The value at a path; `undefined` if there is none. The empty path is the value itself. */
export const valueAt = (root: Json, path: Path): Json | undefined => {
  let value: Json | undefined = root
  for (const key of path) {
    if (value === undefined) return undefined
    value = child(value, key)
  }
  return value
}
