/**
 * The tokens of a JavaScript expression: enough of the language to find where an expression ends,
 * which names it uses, and whether it is only a path.
 *
 * Guarantees: linear time, no recursion, for any text. Leaves out: the grammar. Whether tokens make
 * an expression is for the evaluator to say.
 */

/** A token. `partner` is the place of the bracket that belongs to a bracket. */
export interface Token {
  readonly kind: "name" | "number" | "text" | "template" | "regex" | "sign"
  readonly text: string
  /** Where it begins, in characters from the beginning of the whole text. */
  readonly at: number
  partner: number
}

/** What is wrong at a place. */
export interface Fault {
  readonly at: number
  readonly reason: string
}

/** The tokens up to `}}`, where those begin (-1: the text ends before), and the first fault. */
export interface Lexed {
  readonly tokens: ReadonlyArray<Token>
  readonly end: number
  readonly fault: Fault | undefined
}

const blank = /\s+|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\//y
const name = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy
const number = /0[xob][\da-f_]+n?|(?:\d[\d_]*(?:\.(?!\.)[\d_]*)?|\.\d[\d_]*)(?:e[+-]?\d[\d_]*)?n?/iy
const quotedText = /"(?:[^"\\\n\r]|\\[^])*"|'(?:[^'\\\n\r]|\\[^])*'/y
const regex =
  /\/(?![*/])(?:[^\\/[\n\r]|\\[^\n\r]|\[(?:[^\]\\\n\r]|\\[^\n\r])*\])+\/[\p{ID_Continue}$]*/uy
const chunk = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y
const sign = /=>|\.\.\.|\?\.(?!\d)|\+\+|--|[-+*/%&|^!~<>=?:;,.(){}[\]]/y

/** Words behind which a `/` begins a regular expression. */
const beforeOperand = new Set(
  "return typeof in of instanceof void delete new case throw else do yield await".split(" "),
)

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "${": "}" }

/** One pass over a text. Mutable. */
class Lexer {
  readonly tokens: Array<Token> = []
  readonly #text: string
  readonly #open: Array<number> = []
  at: number
  fault: Fault | undefined

  constructor(text: string, from: number) {
    this.#text = text
    this.at = from
  }

  /** Reads until the end; gives where `}}` begins, or -1. */
  run(): number {
    while (this.fault === undefined) {
      while (this.#match(blank) !== undefined);
      if (this.at >= this.#text.length) return -1
      if (this.#open.length === 0 && this.#text.startsWith("}}", this.at)) return this.at
      this.#token()
    }
    return -1
  }

  /** Where the bracket stands that is not closed; `undefined` where all are. */
  get unclosed(): number | undefined {
    const last = this.#open.at(-1)
    return last === undefined ? undefined : this.tokens[last]!.at
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) return undefined
    this.at += found.length
    return found
  }

  #fail(reason: string): void {
    this.fault = { at: this.at, reason }
  }

  #push(kind: Token["kind"], text: string): void {
    this.tokens.push({ kind, text, at: this.at - text.length, partner: -1 })
  }

  #token(): void {
    const next = this.#text[this.at]!
    for (const [kind, pattern] of this.#candidates(next)) {
      const found = this.#match(pattern)
      if (found !== undefined) return this.#push(kind, found)
    }
    if (next === '"' || next === "'") return this.#fail("a text is never closed")
    if (next === "`") {
      this.at += 1
      this.#push("template", next)
      return this.#template()
    }
    const found = this.#match(sign)
    if (found === undefined) return this.#fail(`unexpected character ${JSON.stringify(next)}`)
    if (found in closing) return this.#begin(found)
    if (found === ")" || found === "]" || found === "}") return this.#close(found)
    this.#push("sign", found)
  }

  *#candidates(next: string): Iterable<readonly [Token["kind"], RegExp]> {
    if (next === "/" && this.#expectsOperand()) yield ["regex", regex]
    if (next === '"' || next === "'") yield ["text", quotedText]
    if ((next >= "0" && next <= "9") || next === ".") yield ["number", number]
    yield ["name", name]
  }

  #expectsOperand(): boolean {
    const last = this.tokens.at(-1)
    if (last === undefined) return true
    if (last.kind === "sign") return ![")", "]", "}", "++", "--"].includes(last.text)
    return last.kind === "name" && beforeOperand.has(last.text)
  }

  #begin(bracket: string): void {
    this.#push("sign", bracket)
    this.#open.push(this.tokens.length - 1)
  }

  #close(bracket: string): void {
    const from = this.#open.pop()
    const opener = from === undefined ? undefined : this.tokens[from]!
    if (from === undefined || opener === undefined || closing[opener.text] !== bracket) {
      this.at -= 1
      return this.#fail(`unexpected ${bracket}`)
    }
    this.#push("sign", bracket)
    opener.partner = this.tokens.length - 1
    this.tokens[opener.partner]!.partner = from
    if (opener.text === "${") this.#template()
  }

  /** The characters of a template literal up to its end or up to the next expression in it. */
  #template(): void {
    this.#match(chunk)
    if (this.#text.startsWith("${", this.at)) {
      this.at += 2
      return this.#begin("${")
    }
    if (this.#text[this.at] !== "`") return this.#fail("a text in ` is never closed")
    this.at += 1
    this.#push("template", "`")
  }
}

/** The tokens of the expression that begins at a place and ends before `}}`. */
export const lex = (text: string, from: number): Lexed => {
  const lexer = new Lexer(text, from)
  const end = lexer.run()
  const { fault, tokens, unclosed } = lexer
  if (fault !== undefined || end >= 0 || unclosed === undefined) return { tokens, end, fault }
  return { tokens, end, fault: { at: unclosed, reason: "a bracket is never closed" } }
}

/** The value of a text in quotes; `undefined` for one with escapes that JSON does not have. */
export const textOf = ({ kind, text }: Token): string | undefined => {
  if (kind !== "text") return undefined
  if (!text.includes("\\")) return text.slice(1, -1)
  try {
    return text.startsWith('"') ? (JSON.parse(text) as string) : undefined
  } catch {
    return undefined
  }
}
