/**
 * Literals with expressions: JSON some texts of which are templates.
 *
 * Guarantees: a literal is read once, and filled as often as it is needed; what holds no expression
 * is shared, not copied, and what is made is frozen. A text that is only one expression becomes the
 * expression's value. The size of a result is bounded, however often a value is put in. Leaves out:
 * finding the values.
 */
import { Result } from "effect"
import type { Json } from "../../domain/Json.ts"
import { frozenCopy, isJsonObject } from "../../domain/Json.ts"
import { expressionJsonLength } from "../../domain/Limits.ts"
import { bracketed, quoted } from "../../domain/Quote.ts"
import type { Expression, TextProblem } from "./TemplateText.ts"
import { isTemplate, parseTemplate } from "./TemplateText.ts"

/** A part of a literal. Numbers are places among its expressions. */
type Piece =
  | { readonly _tag: "Constant"; readonly value: Json }
  | { readonly _tag: "Whole"; readonly place: number }
  | { readonly _tag: "Text"; readonly parts: ReadonlyArray<string | number> }
  | { readonly _tag: "Array"; readonly items: ReadonlyArray<Piece> }
  | { readonly _tag: "Object"; readonly entries: ReadonlyArray<readonly [string, Piece]> }

/** Where in a literal a text stands. */
export type Place = ReadonlyArray<string | number>

/** What JavaScript has to be given. */
export interface Needs {
  /** Ids of nodes. */
  readonly nodes: ReadonlyArray<string>
  /** Those of them that stand alone, without `nodes`. */
  readonly names: ReadonlyArray<string>
  /** The other names in scope. */
  readonly roots: ReadonlySet<string>
}

/** An expression of a literal. */
export interface PlacedExpression extends Expression {
  readonly place: Place
  /** Known once the graph is; empty for what is no JavaScript. */
  readonly needs: Needs
}

const nothing: Needs = { nodes: [], names: [], roots: new Set() }

/** A literal with at least one template. */
export interface Literal {
  readonly expressions: ReadonlyArray<PlacedExpression>
  readonly problems: ReadonlyArray<TextProblem & { readonly place: Place }>
  readonly piece: Piece
}

/** The literals of a node that hold templates, by port. */
export interface NodeLiterals {
  readonly inputs: ReadonlyMap<string, Literal>
  /** The values of `data.default`, by output. */
  readonly fallback: ReadonlyMap<string, Literal>
}

class Reader {
  readonly expressions: Array<PlacedExpression> = []
  readonly problems: Array<Literal["problems"][number]> = []

  read(value: Json, place: Place): Piece {
    if (typeof value === "string" && isTemplate(value)) return this.#text(value, place)
    if (typeof value !== "object" || value === null) return { _tag: "Constant", value }
    const before = this.expressions.length + this.problems.length
    const piece = Array.isArray(value)
      ? { _tag: "Array" as const, items: this.#items(value as ReadonlyArray<Json>, place) }
      : { _tag: "Object" as const, entries: this.#entries(value, place) }
    const isConstant = this.expressions.length + this.problems.length === before
    return isConstant ? { _tag: "Constant", value } : piece
  }

  #items(items: ReadonlyArray<Json>, place: Place): ReadonlyArray<Piece> {
    return items.map((item, index) => this.read(item, [...place, index]))
  }

  #entries(value: object, place: Place): ReadonlyArray<readonly [string, Piece]> {
    return Object.entries(value).map(([key, child]: [string, Json]) => [
      key,
      this.read(child, [...place, key]),
    ])
  }

  #text(text: string, place: Place): Piece {
    const template = parseTemplate(text)
    for (const problem of template.problems) this.problems.push({ ...problem, place })
    const parts = template.parts.map((part) =>
      typeof part === "string"
        ? part
        : this.expressions.push({ ...part, place, needs: nothing }) - 1,
    )
    const [only] = parts
    return parts.length === 1 && typeof only === "number"
      ? { _tag: "Whole", place: only }
      : { _tag: "Text", parts }
  }
}

/** Reads a literal; `undefined` for one without any template. */
export const readLiteral = (value: Json): Literal | undefined => {
  const reader = new Reader()
  const piece = reader.read(value, [])
  const { expressions, problems } = reader
  return expressions.length + problems.length === 0 ? undefined : { expressions, problems, piece }
}

/** True for a clause about a place of the literal, or what is around or in it. */
const isAbout = (clause: string, place: Place): boolean => {
  const path = /^(?:\[(?:"(?:[^"\\]|\\.)*"|[^\]"]*)\])+(?=: )/.exec(clause)?.[0] ?? ""
  const own = bracketed(place)
  return own.startsWith(path) || path.startsWith(own)
}

/**
 * Of the clauses that speak against a literal, those that hold whatever its expressions give. The
 * others are for the handler to say, once there is a value.
 */
export const lastingClauses = (
  { expressions }: Literal,
  clauses: ReadonlyArray<string>,
): ReadonlyArray<string> =>
  clauses.filter((clause) => !expressions.some(({ place }) => isAbout(clause, place)))

/** Why a literal cannot be filled. */
class Unfillable extends Error {}

/** Fills one literal after the other, as long as there is room. Mutable. */
export class Filler {
  #room = expressionJsonLength
  readonly #sizes = new Map<object, number>()

  /**
   * The literal with the values of its expressions, in their order. `undefined` where it is only an
   * expression without a value. Such a key is left out of an object, and such an item is `null`.
   * Fails with a clause if a text lacks a value, and if the result would be too large.
   */
  fill(
    literal: Literal,
    values: ReadonlyArray<Json | undefined>,
  ): Result.Result<Json | undefined, string> {
    try {
      return Result.succeed(this.#piece(literal.piece, literal, values))
    } catch (error) {
      if (error instanceof Unfillable) return Result.fail(error.message)
      throw error
    }
  }

  #piece(
    piece: Piece,
    literal: Literal,
    values: ReadonlyArray<Json | undefined>,
  ): Json | undefined {
    switch (piece._tag) {
      case "Constant":
        return piece.value
      case "Whole":
        return this.#taken(values[piece.place])
      case "Text":
        return this.#text(piece.parts, literal, values)
      case "Array":
        return Object.freeze(piece.items.map((item) => this.#piece(item, literal, values) ?? null))
      case "Object":
        return Object.freeze(
          Object.fromEntries(
            piece.entries.flatMap(([key, each]) => {
              const value = this.#piece(each, literal, values)
              return value === undefined ? [] : [[key, value] as const]
            }),
          ),
        )
    }
  }

  #text(
    parts: ReadonlyArray<string | number>,
    { expressions }: Literal,
    values: ReadonlyArray<Json | undefined>,
  ): string {
    const texts = parts.map((part) => {
      if (typeof part === "string") return part
      const value = values[part]
      if (value === undefined) {
        const { text } = expressions[part]!
        throw new Unfillable(
          `{{ ${shortened(text)} }} has no value; write {{ ${shortened(text)} ?? "" }} where ` +
            "nothing is meant",
        )
      }
      const inserted = typeof value === "string" ? value : JSON.stringify(value)
      this.#spend(inserted.length)
      return inserted
    })
    return texts.join("")
  }

  #taken(value: Json | undefined): Json | undefined {
    if (typeof value === "string") this.#spend(value.length)
    else if (Array.isArray(value) || isJsonObject(value)) this.#spend(this.#sizeOf(value))
    return value
  }

  /** Values are put in as they are, so one of them may be in a result many times. */
  #sizeOf(value: object): number {
    const known = this.#sizes.get(value)
    if (known !== undefined) return known
    const size = Result.match(frozenCopy(value), {
      onFailure: () => expressionJsonLength + 1,
      onSuccess: (copy) => copy.size,
    })
    this.#sizes.set(value, size)
    return size
  }

  #spend(characters: number): void {
    this.#room -= characters
    if (this.#room >= 0) return
    throw new Unfillable(
      `expressions put more than ${expressionJsonLength} characters into the inputs of one node`,
    )
  }
}

/** The text of an expression as a sentence shows it. */
export const shortened = (text: string): string => {
  const line = text.replace(/\s+/g, " ")
  const cut = quoted(line.length > 80 ? `${line.slice(0, 79)}…` : line)
  return cut.slice(1, -1).replaceAll('\\"', '"')
}
