/**
 * Templates: JSON whose texts have `{{ path }}` for a value of the node's input or the run's
 * values, and `{{ "text" }}` for the quoted text.
 *
 * Guarantees: a text that is only one expression becomes the value itself, of any type. In other
 * texts, strings are inserted as they are, other values as JSON, and missing values as nothing.
 * Inserted text is not read as a template. Time is linear, in slices (`ComputePermit`), and
 * the size of the result is bounded. Leaves out: keys of objects, and computation.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { problemOf } from "@millrace/core/domain/Json"
import {
  expressionsPerTemplate,
  issuesPerValue,
  templateDepth,
  templateInsertedLength,
} from "@millrace/core/domain/Limits"
import { bracketed, quoted } from "@millrace/core/domain/Quote"
import type { Issue } from "./internal/Checked.ts"
import { checked, issue } from "./internal/Checked.ts"
import type { Path } from "@millrace/core/domain/Path"
import { parsePath, valueAt } from "@millrace/core/domain/Path"
import type { Job, Work } from "@millrace/core/domain/Work"
import { operationsOf } from "@millrace/core/domain/Work"

/** The possible first parts of a path. */
const roots = ["input", "values"]

interface Expression {
  readonly text: string
  /** Undefined if the text is not a path that begins with a root. */
  readonly path: Path | undefined
  /** The quoted text. A template needs one to contain `{{`. */
  readonly literal?: string
}

/** A quoted text in the syntax of JSON. */
const quotedText = /\{\{\s*("(?:[^"\\]|\\.)*")\s*\}\}/y

/** The quoted text that begins at a place, and where it ends. */
const literalAt = (text: string, open: number) => {
  quotedText.lastIndex = open
  const [whole, inQuotes] = quotedText.exec(text) ?? []
  if (whole === undefined || inQuotes === undefined) return undefined
  try {
    return { literal: JSON.parse(inQuotes) as string, text: inQuotes, end: open + whole.length }
  } catch {
    return undefined
  }
}

const expressionOf = (text: string): Expression => {
  const path = parsePath(text)
  return { text, path: path !== undefined && roots.includes(path[0] ?? "") ? path : undefined }
}

/** The plain texts and expressions of a text. Braces that are not closed are plain text. */
function* partsOf(text: string): Generator<string | Expression, void, void> {
  let from = 0
  for (;;) {
    const open = text.indexOf("{{", from)
    const close = open < 0 ? -1 : text.indexOf("}}", open + 2)
    if (close < 0) break
    if (open > from) yield text.slice(from, open)
    const inQuotes = literalAt(text, open)
    if (inQuotes !== undefined) {
      yield { ...inQuotes, path: undefined }
      from = inQuotes.end
      continue
    }
    yield expressionOf(text.slice(open + 2, close).trim())
    from = close + 2
  }
  if (from < text.length) yield text.slice(from)
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
  `expected a path that begins with input or values, like {{ input.user.name }}, ` +
  `not ${quoted(text)}`

/** The problems of a value that should be a template; none if it can be filled. */
export const problemsOfTemplate = (template: unknown): ReadonlyArray<Issue> => {
  const problem = problemOf(template, templateDepth)
  if (problem !== undefined) return issue(problem)
  const issues: Array<Issue> = []
  let expressions = 0
  visitTexts(
    template as Json,
    (text, path) => {
      for (const part of partsOf(text)) {
        if (expressions > expressionsPerTemplate) return
        if (typeof part === "string") continue
        expressions += 1
        if (part.path !== undefined || part.literal !== undefined) continue
        issues.push({ path, issue: clause(part.text) })
      }
    },
    [],
  )
  return expressions > expressionsPerTemplate
    ? issue(`expected at most ${expressionsPerTemplate} expressions`)
    : issues
}

const inBrackets = /\["[^"]*"\]|\[\d+\]/g
const bareKeys = /^[\p{L}\p{M}\p{N}_$.-]*$/u

/** True if the keys of a path outside of brackets are words, without blanks or operators. */
const isOfWords = (text: string): boolean => bareKeys.test(text.replace(inBrackets, ""))

const computing = (text: string): string =>
  `${quoted(text)} is no path, and a template computes nothing; expected a path such as ` +
  'input.user.name or input["first name"]'

const neverClosed = 'holds {{ that is never closed; write {{ "{{" }} for the two braces'

/**
 * The problems for which a start refuses a template, although it can be filled: expressions that
 * look like computations, whose value would be null, and braces that are not closed.
 */
export const problemsOfLiteral = (template: Json): ReadonlyArray<string> => {
  if (problemOf(template, templateDepth) !== undefined) return []
  const clauses: Array<string> = []
  visitTexts(
    template,
    (text, path) => {
      if (!text.includes("{{")) return
      const place = path.length === 0 ? "" : `${bracketed(path)}: `
      for (const part of partsOf(text)) {
        if (clauses.length === issuesPerValue) return
        if (typeof part === "string") {
          if (part.includes("{{")) clauses.push(place + neverClosed)
        } else if (part.path !== undefined && !isOfWords(part.text)) {
          clauses.push(place + computing(part.text))
        }
      }
    },
    [],
  )
  return clauses
}

interface Found {
  readonly value: Json | undefined
  readonly text: string
}

/** Finds the values of expressions, and counts the inserted characters. */
const finder = (scope: JsonObject) => {
  const found = new Map<string, Found>()
  let room = templateInsertedLength
  const look = (path: Path): Found => {
    const value = valueAt(scope, path)
    const text = typeof value === "string" ? value : JSON.stringify(value ?? null)
    return { value, text: value === undefined ? "" : text }
  }
  return ({ literal, path = [], text }: Expression): Found => {
    const fresh = () => (literal === undefined ? look(path) : { value: literal, text: literal })
    const each = found.get(text) ?? fresh()
    found.set(text, each)
    room -= each.text.length
    if (room < 0) throw new Error(`the result is larger than ${templateInsertedLength} characters`)
    return each
  }
}

type Find = ReturnType<typeof finder>

function* fillText(text: string, find: Find, work: Work): Job<Json> {
  const parts = [...partsOf(text)]
  if (work.spend(operationsOf(text) + parts.length)) yield
  const only = parts[0]
  if (parts.length === 1 && typeof only === "object") return find(only).value ?? null
  const texts: Array<string> = []
  for (const part of parts) {
    const each = typeof part === "string" ? part : find(part).text
    texts.push(each)
    if (work.spend(operationsOf(each))) yield
  }
  return texts.join("")
}

function* fillValue(value: Json, find: Find, work: Work): Job<Json> {
  if (typeof value === "string") return yield* fillText(value, find, work)
  if (typeof value !== "object" || value === null) return value
  if (work.spend(1)) yield
  if (Array.isArray(value)) {
    const elements: Array<Json> = []
    for (const each of value as ReadonlyArray<Json>) {
      elements.push(yield* fillValue(each, find, work))
    }
    return elements
  }
  const entries: Array<[key: string, value: Json]> = []
  for (const [key, child] of Object.entries(value)) {
    entries.push([key, yield* fillValue(child, find, work)])
  }
  return Object.fromEntries(entries)
}

/**
 * Fills a template that has no problems. The scope has `values`, and `input` if there is one.
 * Throws an `Error`, whose message is a clause, if the result would be too large.
 */
export const fill = (template: Json, scope: JsonObject, work: Work): Job<Json> =>
  fillValue(template, finder(scope), work)

/** The schema of a port that takes a template. */
export const TemplateInput = checked<Json>(problemsOfTemplate, {
  description:
    "Any JSON. Texts may contain {{ input.user.name }}, {{ input.items[0].id }} or " +
    "{{ values.name }}; a text that is only one such expression becomes the value itself. " +
    'Two braces are written {{ "{{" }}.',
  jsonSchema: {},
})
