/**
 * Writes values in the form that their schema has on the wire: what `Schema.encode` gives, in a
 * walk that checks nothing, because values were checked when they were stored.
 *
 * Guarantees: fields that the schema does not name are left out, in objects within objects, too.
 * Leaves out: JSON text, and what a schema says that is not known here; `Schema.encode` writes
 * that.
 */
import { Schema, type SchemaAST } from "effect"

/** Writes a value. */
export type Write = (value: unknown) => unknown

const same: Write = (value) => value

const written = { disableChecks: true } as const

/** What a transformation is that consists of one function, such as that of times and amounts. */
const functionOf = ([link, ...more]: SchemaAST.Encoding): Write | undefined => {
  if (more.length > 0 || !isScalar(link.to) || !("encode" in link.transformation)) return undefined
  const { encode } = link.transformation
  return "_tag" in encode && encode._tag === "Transform" ? encode.transform : undefined
}

/** True for values that are written as they are, and that nobody can change. */
const isScalar = (ast: SchemaAST.AST): boolean => {
  if (ast.encoding !== undefined) return false
  switch (ast._tag) {
    case "Null":
    case "String":
    case "Number":
    case "Boolean":
    case "Literal":
      return true
    case "Union":
      return ast.types.every(isScalar)
    default:
      return false
  }
}

const objectWriter = ({ propertySignatures }: SchemaAST.Objects, copy: Write): Write => {
  const fields = propertySignatures.map(({ name, type }) => ({
    name: String(name),
    write: writerOf(type, copy),
  }))
  return (value) => {
    const object: Record<string, unknown> = {}
    for (const { name, write } of fields) {
      const field = (value as Readonly<Record<string, unknown>>)[name]
      if (field !== undefined) object[name] = write(field)
    }
    return object
  }
}

const writerOf = (ast: SchemaAST.AST, copy: Write): Write => {
  const encoded = (): Write => {
    const encode = Schema.encodeUnknownSync(Schema.make<Schema.Codec<unknown>>(ast), written)
    return (value) => copy(encode(value))
  }
  if (ast.encoding !== undefined) return functionOf(ast.encoding) ?? encoded()
  if (isScalar(ast)) return same
  switch (ast._tag) {
    case "Any":
      return copy
    case "Objects": {
      const {
        indexSignatures: [index],
        propertySignatures,
      } = ast
      if (index === undefined) return objectWriter(ast, copy)
      return propertySignatures.length === 0 && index.type._tag === "Any" ? copy : encoded()
    }
    case "Arrays": {
      const [element] = ast.rest
      if (element === undefined || ast.elements.length > 0) return encoded()
      const write = writerOf(element, copy)
      return (value) => (value as ReadonlyArray<unknown>).map((item) => write(item))
    }
    case "Union": {
      const [member, ...more] = ast.types.filter(({ _tag }) => _tag !== "Null")
      if (member === undefined || more.length > 0) return encoded()
      const write = writerOf(member, copy)
      return (value) => (value === null ? null : write(value))
    }
    default:
      return encoded()
  }
}

/**
 * Makes the writer of a schema. `copy` writes values that are opaque; by default they are in the
 * result themselves.
 */
export const make = ({ ast }: Schema.Top, copy: Write = same): Write => writerOf(ast, copy)
