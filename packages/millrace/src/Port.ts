/**
 * Ports of node types declared outside Effect: one schema per port, from any library that speaks
 * Standard Schema, or an Effect Schema.
 *
 * Guarantees: one form for both, so that nothing else needs to know where a schema came from; what
 * a handler sees and returns is typed by the schemas alone. Leaves out: what a node type is.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { bracketed } from "@millrace/core/domain/Quote"
import { Schema } from "effect"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"

/** An Effect Schema that needs no services. */
export type EffectSchema = Schema.Codec<unknown, unknown>

/** The schema of a port: anything that speaks Standard Schema, as zod does, or an Effect Schema. */
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

/** What a handler finds at an input with this schema: the value after validation. */
export type Read<S> = S extends EffectSchema
  ? Unboxed<Field<S>["Type"]>
  : S extends StandardSchemaV1<unknown, infer Output>
    ? Output
    : never

/** What a handler gives to an output with this schema: the value before validation. */
export type Written<S> = S extends EffectSchema
  ? Unboxed<Field<S>["Type"]>
  : S extends StandardSchemaV1<infer Input>
    ? Input
    : never

/** What a literal for an input with this schema looks like in a workflow. */
export type Drawn<S> = S extends EffectSchema
  ? Unboxed<Field<S>["Encoded"]>
  : S extends StandardSchemaV1<infer Input>
    ? Input
    : never

/** What a schema says of a value. */
export type SchemaResult = StandardSchemaV1.Result<unknown>

type Judge = (value: unknown) => SchemaResult | Promise<SchemaResult>

/** A schema at work, whichever library it is from. A value that is not there is `undefined`. */
export interface Port {
  /** JSON on its way to a handler. */
  readonly read: Judge
  /** What a handler returned, on its way to JSON. */
  readonly write: Judge
  /** False when a node can do without a value here. */
  readonly required: boolean
  /** JSON Schema of what may arrive here; `{}` when the library cannot tell. */
  readonly readSchema: JsonObject
  /** JSON Schema of what leaves here; `{}` when the library cannot tell. */
  readonly writeSchema: JsonObject
}

/** Puts a schema to work. Throws when it is none. */
export const make = (schema: PortSchema): Port => {
  if (Schema.isSchema(schema)) return ofEffect(schema)
  if (isStandard(schema)) return ofStandard(schema)
  throw new TypeError("expected a Standard Schema or an Effect Schema")
}

const isStandard = (schema: unknown): boolean => {
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
 * The clauses against a value, as far as they can be told at once: a validator that takes its time
 * is asked again when the node executes.
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

const jsonSchemaOf = (
  schema: StandardSchemaV1 | StandardJSONSchemaV1,
  side: "input" | "output",
): JsonObject => {
  const standard: object = schema["~standard"]
  if (!("jsonSchema" in standard)) return {}
  const { jsonSchema } = standard as StandardJSONSchemaV1["~standard"]
  try {
    const { $schema: _, ...rest } = jsonSchema[side]({ target: "draft-2020-12" })
    return rest as JsonObject
  } catch {
    return {}
  }
}
