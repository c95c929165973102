/**
 * Reads JSON, and says in which line it stops being JSON.
 *
 * Guarantees: keys such as `__proto__` become own properties. The place of a problem is found by a
 * scan of our own, because what the engine of JavaScript says has no place in some cases and a part
 * of the text in others.
 */
import type { Json } from "@millrace/core/domain/Json"

const blank = /[ \t\r\n]*/y
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)/y

/** Where a text that begins here ends; -1 if it does not. */
const endOfText = (text: string, at: number): number => {
  for (let next = at + 1; next < text.length; next++) {
    const character = text[next]!
    if (character === '"') return next + 1
    if (character < " ") return -1
    if (character !== "\\") continue
    const escape = text[++next] ?? ""
    if (escape === "u" && /^[\dA-Fa-f]{4}$/.test(text.slice(next + 1, next + 5))) next += 4
    else if (!'"\\/bfnrt'.includes(escape) || escape === "") return -1
  }
  return -1
}

const endOf = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

type Expected = "value" | "first" | "key" | "colon" | "next"

/** Where in a text, in characters from 0, it stops being JSON. */
const faultIn = (text: string): number => {
  const open: Array<string> = []
  let expected: Expected = "value"
  for (let at = 0; ;) {
    at = endOf(blank, text, at)
    const character = text[at]
    const inside = open.at(-1)
    const isEnd = (expected === "next" || expected === "first") && character === inside
    if (isEnd && character !== undefined) {
      open.pop()
      expected = "next"
      at += 1
    } else if (expected === "next") {
      if (character !== "," || inside === undefined) return at
      expected = inside === "}" ? "key" : "value"
      at += 1
    } else if (expected === "colon") {
      if (character !== ":") return at
      expected = "value"
      at += 1
    } else if (character === '"') {
      const end = endOfText(text, at)
      if (end < 0) return at
      const isKey: boolean = expected === "key" || (expected === "first" && inside === "}")
      expected = isKey ? "colon" : "next"
      at = end
    } else if (expected === "key" || (expected === "first" && inside === "}")) {
      return at
    } else if (character === "{" || character === "[") {
      open.push(character === "{" ? "}" : "]")
      expected = "first"
      at += 1
    } else {
      const end = endOf(scalar, text, at)
      if (end < 0) return at
      expected = "next"
      at = end
    }
  }
}

/** The line of a place. */
export const lineAt = (text: string, at: number): number => text.slice(0, at).split("\n").length

/** The value; throws an `Error` with a clause. */
export const readJson = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    const at = faultIn(text)
    const line = lineAt(text, at)
    if (at >= text.length) throw new Error(`the JSON ends too early, in line ${line}`)
    const column = at - text.lastIndexOf("\n", at - 1)
    throw new Error(
      `no JSON: unexpected ${JSON.stringify(text[at])} in line ${line}, column ${column}`,
    )
  }
}
