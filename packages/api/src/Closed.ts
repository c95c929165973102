/**
 * Objects that take the fields they know and no others, so that a misspelt one is refused instead
 * of having no effect.
 *
 * A schema says so of itself with the annotation `closed`: `true`, or the names of all fields that
 * may be there where it reads only some of them. Whoever reads a value asks here. Guarantees: looks
 * at a value and at its own fields, no deeper. Leaves out: every other object; what a node or an
 * edge has beside what we know is its editor's, and is let pass.
 */
import { isJsonObject } from "@millrace/core/domain/Json"
import { unknownFields } from "@millrace/core/domain/Nearest"
import type { Schema, SchemaAST } from "effect"

const fieldsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.PropertySignature> =>
  ast._tag === "Objects" ? ast.propertySignatures : []

const clausesOf = (ast: SchemaAST.AST, value: unknown): ReadonlyArray<string> => {
  const closed = ast.annotations?.["closed"]
  if (closed === undefined || !isJsonObject(value)) return []
  const own = fieldsOf(ast).map(({ name }) => String(name))
  const known = closed === true ? own : (closed as ReadonlyArray<string>)
  return unknownFields(Object.keys(value), known)
}

/** Of several forms, the one whose `type` a value has; none, if it has another one. */
const memberOf = (ast: SchemaAST.Union, type: unknown): SchemaAST.AST | undefined =>
  ast.types.find((member) =>
    fieldsOf(member).some(
      (field) =>
        field.name === "type" && field.type._tag === "Literal" && field.type.literal === type,
    ),
  )

/** A clause for each unknown field of the closed objects in a value of this form. */
export const unknownFieldsOf = (
  { ast: whole }: Schema.Constraint,
  value: unknown,
): ReadonlyArray<string> => {
  if (!isJsonObject(value)) return []
  const ast = whole._tag === "Union" ? memberOf(whole, value["type"]) : whole
  if (ast === undefined) return []
  const below = fieldsOf(ast).flatMap(({ name, type }) =>
    clausesOf(type, value[String(name)]).map((clause) => `${String(name)}: ${clause}`),
  )
  return [...clausesOf(ast, value), ...below]
}
