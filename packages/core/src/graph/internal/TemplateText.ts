/**
 * Texts with expressions: `Hello {{ fetch.body.name }}`.
 *
 * Guarantees: linear time; every problem names its column, from 1. What is only a path is read by
 * `PlainPath`; a text in quotes, a number, `true`, `false` and `null` stand for themselves;
 * anything else is JavaScript. Leaves out: what names mean, which depends on the graph, and whether
 * JavaScript is well formed, which the evaluator knows.
 */
import type { Json } from "../../domain/Json.ts"
import { expressionLength } from "../../domain/Limits.ts"
import { type Reference, referencesIn } from "./Names.ts"
import { lex, textOf, type Token } from "./Tokens.ts"
import { pathOf, type PlainPath } from "./PlainPath.ts"

/** How the value of an expression is found. */
export type Meaning =
  | { readonly _tag: "Constant"; readonly value: Json }
  | { readonly _tag: "Path"; readonly path: PlainPath }
  | { readonly _tag: "Script" }

/** What stands between `{{` and `}}`. */
export interface Expression {
  /** Without the blanks around it. */
  readonly text: string
  /** Where it begins in its text, in characters from 1. */
  readonly column: number
  readonly meaning: Meaning
  /** The names it uses; places in them are characters of the whole text, from 0. */
  readonly references: ReadonlyArray<Reference>
}

/** What is wrong with a text, as a clause. */
export interface TextProblem {
  readonly column: number
  readonly reason: string
}

/** A text with expressions. */
export interface Template {
  readonly parts: ReadonlyArray<string | Expression>
  readonly problems: ReadonlyArray<TextProblem>
}

/** True for a text that is a template. */
export const isTemplate = (text: string): boolean => text.includes("{{")

const neverClosed = '{{ is never closed; write {{ "{{" }} for the two braces as text'

const words: ReadonlyMap<string, Json> = new Map<string, Json>([
  ["true", true],
  ["false", false],
  ["null", null],
])

const constantOf = ([token, ...more]: ReadonlyArray<Token>): Json | undefined => {
  if (token === undefined || more.length > 0) return undefined
  if (token.kind === "text") return textOf(token)
  if (token.kind === "name") return words.get(token.text)
  // Only numbers that mean the same in JSON.
  const isNumber = token.kind === "number" && /^(?:0|[1-9]\d*)(?:\.\d+)?$/.test(token.text)
  return isNumber ? Number(token.text) : undefined
}

const meaningOf = (tokens: ReadonlyArray<Token>): Meaning => {
  const value = constantOf(tokens)
  if (value !== undefined) return { _tag: "Constant", value }
  const path = pathOf(tokens)
  return path === undefined ? { _tag: "Script" } : { _tag: "Path", path }
}

const expressionOf = (text: string, tokens: ReadonlyArray<Token>): Expression => {
  const { at } = tokens[0]!
  const last = tokens.at(-1)!
  return {
    text: text.slice(at, last.at + last.text.length),
    column: at + 1,
    meaning: meaningOf(tokens),
    references: referencesIn(tokens),
  }
}

/** Reads a text. Parts with problems are left out. */
export const parseTemplate = (text: string): Template => {
  const parts: Array<string | Expression> = []
  const problems: Array<TextProblem> = []
  if (text.length > expressionLength) {
    const most = `at most ${expressionLength} are allowed`
    const reason = `a text with {{ has ${text.length} characters; ${most}`
    return { parts, problems: [{ column: 1, reason }] }
  }
  let from = 0
  for (let open = text.indexOf("{{"); open >= 0; open = text.indexOf("{{", from)) {
    if (open > from) parts.push(text.slice(from, open))
    const { end, fault, tokens } = lex(text, open + 2)
    if (end >= 0 && tokens.length > 0) parts.push(expressionOf(text, tokens))
    else if (end >= 0) problems.push({ column: open + 1, reason: "{{ }} holds no expression" })
    else if (fault === undefined) problems.push({ column: open + 1, reason: neverClosed })
    else problems.push({ column: fault.at + 1, reason: fault.reason })
    const close = end >= 0 ? end : text.indexOf("}}", fault === undefined ? text.length : fault.at)
    if (close < 0) return { parts, problems }
    from = close + 2
  }
  if (from < text.length) parts.push(text.slice(from))
  return { parts, problems }
}

/** The expressions of a template. */
export const expressionsOf = ({ parts }: Template): ReadonlyArray<Expression> =>
  parts.filter((part) => typeof part !== "string")
