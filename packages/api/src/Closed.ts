/**
 * Objects that take the fields they know and no others, so that a misspelt one is refused instead
 * of having no effect.
 *
 * A schema says so of itself with the annotation `closed`: `true`, or the names of all fields that
 * may be there where it reads only some of them. Whoever reads a value asks here. Guarantees: looks
 * at a value and at its own fields, no deeper. Leaves out: every other object; what a node or an
 * edge has beside what we know is its editor's, and is let pass.
 */
import { isJsonObject, type JsonObject } from "@millrace/core/domain/Json"
import { unknownFields } from "@millrace/core/domain/Nearest"
import type { Schema, SchemaAST } from "effect"

/** Gives a clause for each unknown field of a value. */
type Find<Value> = (value: Value) => ReadonlyArray<string>

const nothing: Find<unknown> = () => []

const fieldsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.PropertySignature> =>
  ast._tag === "Objects" ? ast.propertySignatures : []

/** Looks at the own fields of a closed object; `undefined` for any other form. */
const ownFinder = (ast: SchemaAST.AST): Find<unknown> | undefined => {
  const closed = ast.annotations?.["closed"]
  if (closed === undefined) return undefined
  const own = fieldsOf(ast).map(({ name }) => String(name))
  const known = closed === true ? own : (closed as ReadonlyArray<string>)
  return (value) => (isJsonObject(value) ? unknownFields(Object.keys(value), known) : [])
}

/** Looks at an object and at its fields. */
const finder = (ast: SchemaAST.AST): Find<JsonObject> => {
  const own = ownFinder(ast) ?? nothing
  const below = fieldsOf(ast).flatMap(({ name, type }) => {
    const find = ownFinder(type)
    return find === undefined ? [] : [{ name: String(name), find }]
  })
  return (value) => [
    ...own(value),
    ...below.flatMap(({ find, name }) => find(value[name]).map((clause) => `${name}: ${clause}`)),
  ]
}

/** The value of the field `type` that tells the objects of this form from others. */
const typeOf = (ast: SchemaAST.AST): unknown => {
  const type = fieldsOf(ast).find(({ name }) => name === "type")?.type
  return type?._tag === "Literal" ? type.literal : undefined
}

/** Looks at objects of several forms: at each as the first form of its `type`; at none without. */
const unionFinder = ({ types }: SchemaAST.Union): Find<JsonObject> => {
  const byType = new Map(types.toReversed().map((ast) => [typeOf(ast), finder(ast)]))
  byType.delete(undefined)
  return (value) => (byType.get(value["type"]) ?? nothing)(value)
}

/** Makes a function that gives a clause for each unknown field in a value of this form. */
export const unknownFieldsIn = ({ ast }: Schema.Constraint): Find<unknown> => {
  const find = ast._tag === "Union" ? unionFinder(ast) : finder(ast)
  return (value) => (isJsonObject(value) ? find(value) : [])
}
