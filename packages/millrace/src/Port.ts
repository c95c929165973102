/**
 * The schemas of ports for `defineNode`: a Standard Schema of any library, or an Effect Schema.
 *
 * Guarantees: `Port` is the same for both, so no other module knows where a schema came from. The
 * types of a handler's inputs and outputs follow from the schemas alone.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { bracketed } from "@millrace/core/domain/Quote"
import * as Schema from "effect/Schema"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"

/** An Effect Schema that needs no services. */
export type EffectSchema = Schema.Codec<unknown, unknown>

/** The schema of a port: a Standard Schema, such as one of zod, or an Effect Schema. */
export type PortSchema = StandardSchemaV1 | EffectSchema

/** One schema per port. */
export type PortSchemas = { readonly [name: string]: PortSchema }

type Field<S extends EffectSchema> = Schema.Struct<{ readonly value: S }>

/** The value of a struct's one field; `undefined` stands for an absent key. */
type Unboxed<Box> = Box extends { readonly value: infer Value }
  ? Value
  : Box extends { readonly value?: infer Value }
    ? Value | undefined
    : never

/** The type of an input with this schema in a handler: the value after validation. */
export type Read<S> = S extends EffectSchema
  ? Unboxed<Field<S>["Type"]>
  : S extends StandardSchemaV1<unknown, infer Output>
    ? Output
    : never

/** The type that a handler returns for an output with this schema: the value before validation. */
export type Written<S> = S extends EffectSchema
  ? Unboxed<Field<S>["Type"]>
  : S extends StandardSchemaV1<infer Input>
    ? Input
    : never

/** The type of a literal in a workflow for an input with this schema. */
export type Drawn<S> = S extends EffectSchema
  ? Unboxed<Field<S>["Encoded"]>
  : S extends StandardSchemaV1<infer Input>
    ? Input
    : never

/** The type of what leaves an output with this schema: the value after validation, as JSON. */
export type Sent<S> = S extends EffectSchema
  ? Unboxed<Field<S>["Encoded"]>
  : S extends StandardSchemaV1<unknown, infer Output>
    ? Output
    : never

/** The result of validating a value. */
export type SchemaResult = StandardSchemaV1.Result<unknown>

type Judge = (value: unknown) => SchemaResult | Promise<SchemaResult>

/** The validators of a port. An absent value is `undefined`. */
export interface Port {
  /** Validates JSON and turns it into a handler's input. */
  readonly read: Judge
  /** Validates a handler's output and turns it into JSON. */
  readonly write: Judge
  /** False if a node can execute without a value here. */
  readonly required: boolean
  /** True if it takes values of other types than `readSchema` says. */
  readonly convertsTypes: boolean
  /** JSON Schema of what may arrive here; `{}` when the library cannot tell. */
  readonly readSchema: JsonObject
  /** JSON Schema of what leaves here; `{}` when the library cannot tell. */
  readonly writeSchema: JsonObject
}

/** The first ancestor of an object. The schemas of one copy of Effect have the same one. */
const rootOf = (of: object): unknown => {
  const parent: unknown = Object.getPrototypeOf(of)
  const isRoot = parent === Object.prototype || typeof parent !== "object" || parent === null
  return isRoot ? of : rootOf(parent)
}

const ownRoot = rootOf(Schema.String.ast)

/** The validators of a schema. Throws if the value is not a schema that can be read here. */
export const make = (schema: PortSchema): Port => {
  // A schema of another copy looks like ours, but its optional fields would be required here.
  const isOwn = Schema.isSchema(schema) && rootOf(schema.ast) === ownRoot
  if (isOwn) return ofEffect(schema)
  if (isStandard(schema)) return ofStandard(schema)
  if (!Schema.isSchema(schema)) {
    throw new TypeError("expected a Standard Schema or an Effect Schema")
  }
  throw new TypeError(
    'the schema is of another copy of "effect" than the one that millrace uses: install one copy ' +
      "(npm ls effect shows them), or hand over Schema.toStandardSchemaV1(schema)",
  )
}

const isStandard = (schema: unknown): schema is StandardSchemaV1 => {
  if (schema === null || schema === undefined) return false
  const { "~standard": standard } = schema as Partial<StandardSchemaV1>
  return typeof standard?.validate === "function"
}

/** Every reason why a value was refused, as clauses like `[2][name]: expected a string`. */
export const clausesOf = ({ issues }: SchemaResult): ReadonlyArray<string> =>
  issues?.length === 0 ? ["refused without a reason"] : Array.from(issues ?? [], clauseOf)

const clauseOf = ({ message, path = [] }: StandardSchemaV1.Issue): string => {
  const words = message.replace(/\s+/g, " ").trim()
  return path.length === 0 ? words : `${bracketed(path)}: ${words}`
}

/**
 * The problems of a value, as clauses. A validator that returns a promise is ignored here; it is
 * called when the node executes.
 */
export const check = (port: Port, value: Json): ReadonlyArray<string> => {
  const verdict = synchronous(port.read(value))
  return verdict === undefined ? [] : clausesOf(verdict)
}

const ofStandard = (schema: StandardSchemaV1): Port => {
  const judge = safely((value) => schema["~standard"].validate(value))
  const ofAbsence = synchronous(judge(undefined))
  return {
    read: judge,
    write: judge,
    required: ofAbsence?.issues !== undefined,
    convertsTypes: convertsTypes(schema),
    readSchema: jsonSchemaOf(schema, "input"),
    writeSchema: jsonSchemaOf(schema, "output"),
  }
}

/** An Effect Schema says in a struct only whether its key may be absent, so it is put into one. */
const ofEffect = (schema: EffectSchema): Port => {
  const struct = Schema.toCodecJson(Schema.Struct({ value: schema }))
  const read = fieldJudge(Schema.toStandardSchemaV1(struct, { parseOptions }))
  const json = jsonSchemaOf(Schema.toStandardJSONSchemaV1(Schema.toCodecJson(schema)), "input")
  return {
    read,
    write: fieldJudge(Schema.toStandardSchemaV1(Schema.flip(struct), { parseOptions })),
    required: synchronous(read(undefined))?.issues !== undefined,
    convertsTypes: false,
    readSchema: json,
    writeSchema: json,
  }
}

const parseOptions = { errors: "all" } as const

const fieldJudge = (struct: StandardSchemaV1): Judge => {
  const unwrap = (verdict: SchemaResult): SchemaResult =>
    verdict.issues === undefined
      ? { value: (verdict.value as { readonly value?: unknown }).value }
      : {
          issues: verdict.issues.map(({ message, path = [] }) => ({
            message,
            path: path.slice(1),
          })),
        }
  return safely((value) => {
    const verdict = struct["~standard"].validate(value === undefined ? {} : { value })
    return verdict instanceof Promise ? verdict.then(unwrap) : unwrap(verdict)
  })
}

/** A validator that throws has refused the value. */
const safely =
  (judge: Judge): Judge =>
  (value) => {
    try {
      return judge(value)
    } catch (error) {
      return { issues: [{ message: error instanceof Error ? error.message : String(error) }] }
    }
  }

/** The schema's answer, unless it is still to come. */
const synchronous = (verdict: SchemaResult | Promise<SchemaResult>): SchemaResult | undefined => {
  if (!(verdict instanceof Promise)) return verdict
  verdict.catch(() => undefined)
  return undefined
}

/** What is read of the definition of a zod schema. */
interface ZodSchema {
  readonly _zod: { readonly def: { readonly type: string; coerce?: boolean; in?: ZodSchema } }
}

/**
 * True for a schema of zod with `coerce`, `catch` or `preprocess` in it: its JSON Schema has the
 * type after that, and its input may have any.
 */
const convertsTypes = (schema: StandardSchemaV1): boolean => {
  if (schema["~standard"].vendor !== "zod") return false
  let isRead = false
  let converts = false
  const override = ({ zodSchema }: { readonly zodSchema: ZodSchema }) => {
    const { coerce, in: first, type } = zodSchema._zod.def
    isRead = true
    converts ||= coerce === true || type === "catch" || first?._zod.def.type === "transform"
  }
  jsonSchemaOf(schema, "input", { override })
  return converts || !isRead
}

const jsonSchemaOf = (
  schema: StandardSchemaV1 | StandardJSONSchemaV1,
  side: "input" | "output",
  libraryOptions?: Record<string, unknown>,
): JsonObject => {
  const standard: object = schema["~standard"]
  if (!("jsonSchema" in standard)) return {}
  const { jsonSchema } = standard as StandardJSONSchemaV1["~standard"]
  try {
    const { $schema: _, ...rest } = jsonSchema[side]({
      target: "draft-2020-12",
      libraryOptions,
    })
    return rest as JsonObject
  } catch {
    return {}
  }
}
