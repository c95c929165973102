/**
 * Templates: JSON with `{{ path }}` in its texts, filled from a node's input and the run's values.
 *
 * Guarantees: a text that is nothing but one expression becomes the value itself, of whatever
 * type; elsewhere strings are put in as they are, other values as JSON, and a missing value as
 * nothing. What was put in is never read as a template again. Time is linear and the result is
 * bounded. Leaves out: keys of objects, and any computation.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { problemOf } from "@millrace/core/domain/Json"
import type { Issue } from "./Checked.ts"
import { checked, issue } from "./Checked.ts"
import type { Path } from "./Path.ts"
import { parsePath, valueAt } from "./Path.ts"

/** Levels of nesting of a template. */
export const maxDepth = 100

/** Characters of JSON text that expressions may put into one result. */
export const maxInserted = 1_048_576

/** What the first part of a path can be. */
const roots = ["input", "values"]

interface Expression {
  readonly text: string
  /** Undefined where the text is not a path that begins with a root. */
  readonly path: Path | undefined
}

const expressionOf = (text: string): Expression => {
  const path = parsePath(text)
  return { text, path: path !== undefined && roots.includes(path[0] ?? "") ? path : undefined }
}

/** Plain texts and expressions in turn; braces that are never closed are plain. */
const partsOf = (text: string): ReadonlyArray<string | Expression> => {
  const parts: Array<string | Expression> = []
  let from = 0
  for (;;) {
    const open = text.indexOf("{{", from)
    const close = open < 0 ? -1 : text.indexOf("}}", open + 2)
    if (close < 0) break
    if (open > from) parts.push(text.slice(from, open))
    parts.push(expressionOf(text.slice(open + 2, close).trim()))
    from = close + 2
  }
  if (from < text.length) parts.push(text.slice(from))
  return parts
}

type Visit = (text: string, path: ReadonlyArray<string | number>) => void

const visitTexts = (value: Json, visit: Visit, path: ReadonlyArray<string | number>): void => {
  if (typeof value === "string") return visit(value, path)
  if (typeof value !== "object" || value === null) return
  const children: Iterable<[string | number, Json]> = Array.isArray(value)
    ? (value as ReadonlyArray<Json>).entries()
    : Object.entries(value)
  for (const [key, child] of children) visitTexts(child, visit, [...path, key])
}

const clause = (text: string): string =>
  `expected a path that begins with input or values, like {{ input.user.name }}, not ` +
  `{{ ${text.length > 80 ? `${text.slice(0, 80)}...` : text} }}`

/** Everything that is wrong with a template; nothing when it can be filled. */
export const problemsOfTemplate = (template: unknown): ReadonlyArray<Issue> => {
  const problem = problemOf(template, maxDepth)
  if (problem !== undefined) return issue(problem)
  const issues: Array<Issue> = []
  visitTexts(
    template as Json,
    (text, path) => {
      for (const part of partsOf(text)) {
        if (typeof part === "string" || part.path !== undefined) continue
        issues.push({ path, issue: clause(part.text) })
      }
    },
    [],
  )
  return issues
}

interface Found {
  readonly value: Json | undefined
  readonly text: string
}

/** Finds what expressions stand for, and counts what is put into the result. */
const finder = (scope: JsonObject) => {
  const found = new Map<string, Found>()
  let room = maxInserted
  const look = (path: Path): Found => {
    const value = valueAt(scope, path)
    const text = typeof value === "string" ? value : JSON.stringify(value ?? null)
    return { value, text: value === undefined ? "" : text }
  }
  return ({ path = [], text }: Expression): Found => {
    const each = found.get(text) ?? look(path)
    found.set(text, each)
    room -= each.text.length
    if (room < 0) throw new Error(`the result is larger than ${maxInserted} characters`)
    return each
  }
}

type Find = ReturnType<typeof finder>

const fillText = (text: string, find: Find): Json => {
  const parts = partsOf(text)
  const only = parts[0]
  if (parts.length === 1 && typeof only === "object") return find(only).value ?? null
  return parts.map((part) => (typeof part === "string" ? part : find(part).text)).join("")
}

const fillValue = (value: Json, find: Find): Json => {
  if (typeof value === "string") return fillText(value, find)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((each: Json) => fillValue(each, find))
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, fillValue(child, find)]),
  )
}

/**
 * Fills a template that nothing is wrong with. The scope has `values`, and `input` if there is one.
 * Throws an `Error` whose message is one clause when the result would be too large.
 */
export const fill = (template: Json, scope: JsonObject): Json => fillValue(template, finder(scope))

/** The schema of a port that takes a template. */
export const TemplateInput = checked<Json>(problemsOfTemplate, {
  description:
    "Any JSON. Texts may contain {{ input.user.name }}, {{ input.items[0].id }} or " +
    "{{ values.name }}; a text that is only one such expression becomes the value itself.",
  jsonSchema: {},
})
