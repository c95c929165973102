/**
 * Prices that depend on what a node says: arithmetic over its literals, such as
 * `1 + inputs.maxTokens * 0.001`.
 *
 * An expression has numbers, `inputs` with paths (`inputs.to.length`, `inputs["a name"][0]`),
 * `+ - * /`, `??`, parentheses, and `min`, `max`, `round`, `ceil`, `floor`. It means what it means
 * in JavaScript, but that only a number or nothing counts: a text, and a literal with `{{ }}`, are
 * nothing, and arithmetic with nothing is nothing. Guarantees: pure, and as fast as its text is
 * long. Leaves out: JavaScript beyond that, because prices are computed where nothing can wait.
 */
import { Result } from "effect"
import type { Json, JsonObject } from "./Json.ts"
import { priceLength } from "./Limits.ts"
import { plain, quoted } from "./Quote.ts"

/** What an expression gives: a number, or nothing. */
type Given = number | undefined

/** A part of an expression, read. Adds the paths that give no number to `missing`. */
type Part = (inputs: JsonObject, missing: Array<string>) => Given

const functions: Readonly<Record<string, (...values: ReadonlyArray<number>) => number>> = {
  min: Math.min,
  max: Math.max,
  round: Math.round,
  ceil: Math.ceil,
  floor: Math.floor,
}

const names = `inputs, ${Object.keys(functions).join(", ")}`

const operators: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
}

const kinds = [
  String.raw`(?<number>\d+(?:\.\d+)?)`,
  String.raw`(?<name>[A-Za-z_$][\w$]*)`,
  String.raw`(?<text>"[^"\\]*"|'[^'\\]*')`,
  String.raw`(?<sign>\?\?|[-+*/().,[\]])`,
]
const token = new RegExp(`\\s*(?:${kinds.join("|")})`, "y")

interface Token {
  readonly kind: "number" | "name" | "text" | "sign" | "end"
  readonly text: string
  readonly at: number
}

class Unreadable extends Error {}

const tokensOf = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  const end = text.trimEnd().length
  for (let at = 0; at < end; at = token.lastIndex) {
    token.lastIndex = at
    const groups = token.exec(text)?.groups
    if (groups === undefined) throw new Unreadable(`column ${at + 1}: expected a number or a name`)
    const [kind, found] = Object.entries(groups).find(([, each]) => each !== undefined)!
    const from = token.lastIndex - found.length
    tokens.push({ kind: kind as Token["kind"], text: found, at: from })
  }
  return [...tokens, { kind: "end", text: "the end", at: end }]
}

const child = (value: Json | undefined, key: string): Json | undefined => {
  if (typeof value === "string") return key === "length" ? value.length : undefined
  if (typeof value !== "object" || value === null) return undefined
  return Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined
}

/** A literal with an expression has its value only when the node executes. */
const known = (value: Json | undefined): Json | undefined =>
  typeof value === "string" && value.includes("{{") ? undefined : value

/** Reads tokens from left to right. Mutable. */
class Reader {
  readonly #tokens: ReadonlyArray<Token>
  #next = 0

  constructor(text: string) {
    this.#tokens = tokensOf(text)
  }

  whole(): Part {
    const part = this.#choice()
    if (this.#peek().kind !== "end") this.#fail("an operator")
    return part
  }

  #peek(): Token {
    return this.#tokens[this.#next]!
  }

  #fail(expected: string): never {
    const { at, text } = this.#peek()
    const found = this.#peek().kind === "end" ? text : quoted(text)
    throw new Unreadable(`column ${at + 1}: expected ${expected}, got ${found}`)
  }

  #takes(...signs: ReadonlyArray<string>): string | undefined {
    const { kind, text } = this.#peek()
    if (kind !== "sign" || !signs.includes(text)) return undefined
    this.#next += 1
    return text
  }

  #expect(sign: string): void {
    if (this.#takes(sign) === undefined) this.#fail(quoted(sign))
  }

  #choice(): Part {
    let part = this.#sum()
    while (this.#takes("??") !== undefined) {
      const [first, second] = [part, this.#sum()]
      part = (inputs, missing) => {
        const found: Array<string> = []
        const value = first(inputs, found) ?? second(inputs, found)
        if (value === undefined) missing.push(...found)
        return value
      }
    }
    return part
  }

  #sum(): Part {
    return this.#line(() => this.#product(), "+", "-")
  }

  #product(): Part {
    return this.#line(() => this.#single(), "*", "/")
  }

  #line(read: () => Part, ...signs: ReadonlyArray<string>): Part {
    let part = read()
    for (let sign = this.#takes(...signs); sign !== undefined; sign = this.#takes(...signs)) {
      part = applied(operators[sign]!, [part, read()])
    }
    return part
  }

  #single(): Part {
    const { kind, text } = this.#peek()
    if (this.#takes("-") !== undefined) return applied((value) => -value, [this.#single()])
    if (this.#takes("(") !== undefined) {
      const part = this.#choice()
      this.#expect(")")
      return part
    }
    const isFunction = kind === "name" && Object.hasOwn(functions, text)
    if (kind !== "number" && text !== "inputs" && !isFunction) this.#fail(`a number, ${names}`)
    this.#next += 1
    if (kind === "number") return () => Number(text)
    if (!isFunction) return this.#path()
    this.#expect("(")
    const parts = [this.#choice()]
    while (this.#takes(",") !== undefined) parts.push(this.#choice())
    this.#expect(")")
    return applied(functions[text]!, parts)
  }

  #path(): Part {
    const keys: Array<string> = []
    for (let sign = this.#takes(".", "["); sign !== undefined; sign = this.#takes(".", "[")) {
      const { kind, text } = this.#peek()
      const isKey = sign === "." ? kind === "name" : kind === "text" || kind === "number"
      if (!isKey) this.#fail(sign === "." ? "a name" : "an index, or a name in quotes")
      this.#next += 1
      keys.push(kind === "text" ? text.slice(1, -1) : text)
      if (sign === "[") this.#expect("]")
    }
    return (inputs, missing) => {
      let value: Json | undefined = inputs
      for (const key of keys) value = known(child(value, key))
      if (typeof value === "number") return value
      missing.push(spelled(keys))
      return undefined
    }
  }
}

/** A path as a sentence shows it: `inputs.to.length`. */
const spelled = (keys: ReadonlyArray<string>): string =>
  keys.reduce(
    (path, key) => path + (/^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${plain(key)}]`),
    "inputs",
  )

const applied =
  (compute: (...values: ReadonlyArray<number>) => number, parts: ReadonlyArray<Part>): Part =>
  (inputs, missing) => {
    const values = parts.map((part) => part(inputs, missing))
    return values.includes(undefined) ? undefined : compute(...(values as ReadonlyArray<number>))
  }

/** Reads an expression, or says in a clause, with the column, why it is none. */
export const readExpression = (text: string): Result.Result<Part, string> => {
  if (text.length > priceLength) {
    return Result.fail(`expected at most ${priceLength} characters`)
  }
  try {
    return Result.succeed(new Reader(text).whole())
  } catch (error) {
    if (error instanceof Unreadable) return Result.fail(error.message)
    throw error
  }
}

/** What an expression gives for a node with these literals. */
export interface Priced {
  /** `undefined` for nothing. */
  readonly credits: number | undefined
  /** The paths for whose lack it gives nothing. */
  readonly missing: ReadonlyArray<string>
}

/** The credits that an expression gives for a node with these literals. */
export const priced = (text: string, inputs: JsonObject): Priced => {
  const missing: Array<string> = []
  const read = readExpression(text)
  const credits = Result.isSuccess(read) ? read.success(inputs, missing) : undefined
  return { credits, missing: credits === undefined ? [...new Set(missing)] : [] }
}
