/**
 * Whether a JSON value has the form that a JSON Schema describes: types, constants, alternatives,
 * and what is in objects and arrays.
 *
 * Guarantees: pure; never refuses what the schema accepts. Leaves out: everything else that a
 * schema may say, such as patterns and bounds, and references to other documents.
 */
import type { Json, JsonObject } from "../../domain/Json.ts"
import { isJsonObject } from "../../domain/Json.ts"
import { bracketed, listed, quoted } from "../../domain/Quote.ts"
import { typesOf } from "./JsonTypes.ts"

/** How deep a value is compared; what is below fits. */
const levelsRead = 16

/** Problems of one value that are named. */
const problemsNamed = 5

const typeOf = (value: Json): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value

/** The items of an array; `undefined` for anything else. */
const itemsOf = (value: Json | undefined): ReadonlyArray<Json> | undefined =>
  Array.isArray(value) ? (value as ReadonlyArray<Json>) : undefined

const isWhole = (value: Json): boolean => typeof value === "object" && value !== null

/** Objects and arrays are not compared. */
const mayEqual = (one: Json, other: Json): boolean =>
  one === other || (isWhole(one) && isWhole(other))

class Comparison {
  readonly clauses: Array<string> = []
  readonly #definitions: JsonObject

  constructor(root: JsonObject) {
    this.#definitions = isJsonObject(root["$defs"]) ? root["$defs"] : {}
  }

  compare(schema: Json | undefined, value: Json, place: ReadonlyArray<string | number>): void {
    const read = isJsonObject(schema) ? this.#resolve(schema) : undefined
    if (read === undefined || place.length > levelsRead || this.clauses.length >= problemsNamed) {
      return
    }
    const refuse = (what: string) => {
      const where = bracketed(place)
      this.clauses.push(`${where}${where === "" ? "" : ": "}expected ${what}`)
    }
    const types = typesOf(read)
    if (types !== undefined && !types.has(typeOf(value))) return refuse([...types].join(" or "))
    if (read["type"] === "integer" && !Number.isInteger(value)) return refuse("integer")
    const values = read["const"] === undefined ? itemsOf(read["enum"]) : [read["const"]]
    if (values !== undefined && !values.some((each) => mayEqual(each, value))) {
      return refuse(listed(values.map((each) => JSON.stringify(each))))
    }
    this.#compareInside(read, value, place)
    this.#compareAlternatives(read, value, place)
  }

  #compareInside(schema: JsonObject, value: Json, place: ReadonlyArray<string | number>): void {
    const items = itemsOf(value)
    if (items !== undefined) {
      if (schema["prefixItems"] !== undefined) return
      for (const [index, item] of items.entries()) {
        this.compare(schema["items"], item, [...place, index])
        if (this.clauses.length >= problemsNamed) return
      }
      return
    }
    if (!isJsonObject(value)) return
    const { properties, required } = schema
    for (const key of itemsOf(required) ?? []) {
      if (typeof key !== "string" || Object.hasOwn(value, key)) continue
      const where = bracketed(place)
      this.clauses.push(`${where}${where === "" ? "" : ": "}lacks ${quoted(key)}`)
    }
    if (!isJsonObject(properties)) return
    for (const [key, own] of Object.entries(properties)) {
      if (Object.hasOwn(value, key)) this.compare(own, value[key]!, [...place, key])
    }
  }

  /** One of several schemas must accept the value; the reasons of the nearest one are named. */
  #compareAlternatives(schema: JsonObject, value: Json, place: ReadonlyArray<string | number>) {
    const union = itemsOf(schema["anyOf"] ?? schema["oneOf"])
    if (union === undefined) return
    const isOfType = (each: Json) => {
      const types = isJsonObject(each) ? typesOf(this.#resolve(each) ?? {}) : undefined
      return types === undefined || types.has(typeOf(value))
    }
    const found = union.filter(isOfType).map((each) => {
      const own = new Comparison({ $defs: this.#definitions })
      own.compare(each, value, place)
      return own.clauses
    })
    if (found.length === 0 || found.some((clauses) => clauses.length === 0)) return
    this.clauses.push(...found.toSorted((a, b) => a.length - b.length)[0]!)
  }

  #resolve(schema: JsonObject): JsonObject | undefined {
    const { $ref: reference } = schema
    if (typeof reference !== "string") return schema
    const found = this.#definitions[reference.replace(/^#\/\$defs\//, "")]
    return isJsonObject(found) && found["$ref"] === undefined ? found : undefined
  }
}

/** Every reason why a value does not fit a schema, as clauses; empty when it fits. */
export const clausesOfShape = (schema: JsonObject, value: Json): ReadonlyArray<string> => {
  const comparison = new Comparison(schema)
  comparison.compare(schema, value, [])
  return comparison.clauses.slice(0, problemsNamed)
}
