/**
 * Literals in which the values of expressions have become constants, to be stored and read again.
 *
 * Guarantees: what is read again gives these values. No text that a value brought is an expression
 * there, nor together with what stands beside it. Leaves out: whether a text is too long.
 */
import type { Json } from "../../domain/Json.ts"
import { isJsonObject } from "../../domain/Json.ts"
import type { Literal } from "./Literal.ts"
import { isTemplate } from "./TemplateText.ts"

type Piece = Literal["piece"]

const expressionOf = (text: string): string => `{{ ${JSON.stringify(text)} }}`

/** JSON as a literal that means just this. Keys are never read. */
export const constantOf = (value: Json): Json => {
  if (typeof value === "string") return isTemplate(value) ? expressionOf(value) : value
  if (Array.isArray(value)) return (value as ReadonlyArray<Json>).map(constantOf)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, constantOf(each)]))
}

/** A part of a text beside expressions: a brace could become one together with theirs. */
const besideExpressions = (text: string): string => (/[{}]/.test(text) ? expressionOf(text) : text)

/**
 * The literal with the values of its expressions, in their order, as constants; those at the places
 * `kept` stay as they are. What has no value is left out of an object, and is `null` in an array.
 */
export const settled = (
  { expressions, piece }: Literal,
  values: ReadonlyArray<Json | undefined>,
  kept: ReadonlySet<number>,
): Json => {
  const drawn = (place: number) => `{{ ${expressions[place]!.text} }}`
  const textOf = (parts: ReadonlyArray<string | number>): string => {
    const texts: Array<string> = []
    let open = ""
    for (const part of parts) {
      if (typeof part === "number" && kept.has(part)) {
        texts.push(besideExpressions(open), drawn(part))
        open = ""
      } else {
        const value = typeof part === "string" ? part : (values[part] ?? null)
        open += typeof value === "string" ? value : JSON.stringify(value)
      }
    }
    return texts.join("") + besideExpressions(open)
  }
  const read = (each: Piece): Json | undefined => {
    switch (each._tag) {
      case "Constant":
        return each.value
      case "Whole": {
        const value = values[each.place]
        if (kept.has(each.place)) return drawn(each.place)
        return value === undefined ? undefined : constantOf(value)
      }
      case "Text":
        return textOf(each.parts)
      case "Array":
        return each.items.map((item) => read(item) ?? null)
      case "Object":
        return Object.fromEntries(
          each.entries.flatMap(([key, child]) => {
            const value = read(child)
            return value === undefined ? [] : [[key, value] as const]
          }),
        )
    }
  }
  return read(piece) ?? null
}
