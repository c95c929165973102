/**
 * Forms for JSON Schemas: which fields a port's value can be entered in, and what is typed there.
 *
 * Guarantees: total, whatever the schema and the value are. A field that shows a value shows all of
 * it: what it would lose is shown as JSON. What is typed and is no value yet stays as it is.
 * Leaves out: bounds such as `minimum`; the server judges values.
 */

import { isRecord, isSame } from "../Document.ts"

type JsonRecord = Readonly<Record<string, unknown>>

/** What one line of a form takes. `any`: JSON where the text is JSON, and else the text. */
export type SimpleField =
  | { readonly kind: "text"; readonly isLong: boolean }
  | { readonly kind: "number"; readonly isWhole: boolean }
  | { readonly kind: "boolean" }
  | { readonly kind: "choice"; readonly options: ReadonlyArray<unknown> }
  | { readonly kind: "any" }

/** A property of an object. */
export interface FieldPart {
  readonly name: string
  readonly description: string
  readonly required: boolean
  readonly field: SimpleField
}

/** An object with known properties. */
export interface ObjectField {
  readonly kind: "object"
  /** What tells it from the other forms of the same port; often empty. */
  readonly title: string
  readonly parts: ReadonlyArray<FieldPart>
  /** Properties that are always the same. */
  readonly fixed: JsonRecord
}

/** How a value is entered. */
export type Field =
  | SimpleField
  | ObjectField
  | { readonly kind: "map"; readonly field: SimpleField }
  | { readonly kind: "list"; readonly field: SimpleField | ObjectField }
  | { readonly kind: "json" }
  /** A text with `{{ }}` where the port takes no texts. */
  | { readonly kind: "expression" }

/** What is typed in a field: a text, or those of its lines. Of a map: names and texts. */
export type Typed =
  | string
  | ReadonlyArray<string>
  | ReadonlyArray<readonly [string, string]>
  | { readonly [name: string]: string }
  | ReadonlyArray<{ readonly [name: string]: string }>

/** Why what is typed is no value. `part` names the line, from 1, or the property. */
export interface FieldProblem {
  readonly reason: "notNumber" | "notWhole" | "notJson" | "nameTwice" | "nameMissing"
  readonly part?: string
}

/** What is typed as a value, `undefined` for none, or why it is none yet. */
export type FieldValue = { readonly value: unknown } | { readonly problem: FieldProblem }

/** True for a text that is computed. */
export const isExpression = (value: unknown): value is string =>
  typeof value === "string" && value.includes("{{")

/** Texts that may have this many characters get several lines. */
const longText = 1_024

const typesOf = ({ type }: JsonRecord): ReadonlyArray<unknown> =>
  (Array.isArray(type) ? type : [type]).filter((each) => each !== "null" && each !== undefined)

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null

const textField = ({ format, maxLength }: JsonRecord): SimpleField => {
  const isLong = format === undefined && (typeof maxLength !== "number" || maxLength >= longText)
  return { kind: "text", isLong }
}

/** The alternatives of a schema; itself where it has none. */
const variantsOf = (schema: JsonRecord): ReadonlyArray<JsonRecord> => {
  const listed = schema["anyOf"] ?? schema["oneOf"]
  const variants = Array.isArray(listed) ? listed.filter(isRecord) : []
  return variants.length === 0 ? [schema] : variants.filter(({ type }) => type !== "null")
}

/** The one line that takes what the schema describes, if one does. */
const simpleField = (schema: JsonRecord): SimpleField | undefined => {
  const variants = variantsOf(schema)
  if (variants.length > 1) {
    return variants.every(
      (each) => variantsOf(each).length === 1 && simpleField(each) !== undefined,
    )
      ? { kind: "any" }
      : undefined
  }
  const [only = schema] = variants
  const options = "const" in only ? [only["const"]] : only["enum"]
  if (Array.isArray(options))
    return options.every(isScalar) ? { kind: "choice", options } : undefined
  const types = typesOf(only)
  if (types.length > 1) {
    const isSimple = types.every((type) => type !== "object" && type !== "array")
    return isSimple ? { kind: "any" } : undefined
  }
  if (["$ref", "allOf", "not", "properties", "items"].some((key) => key in only)) return undefined
  switch (types[0]) {
    case undefined:
      return { kind: "any" }
    case "string":
      return textField(only)
    case "integer":
    case "number":
      return { kind: "number", isWhole: types[0] === "integer" }
    case "boolean":
      return { kind: "boolean" }
    default:
      return undefined
  }
}

const objectField = (schema: JsonRecord): ObjectField | undefined => {
  const { properties, required, title } = schema
  if (!isRecord(properties)) return undefined
  const needed = new Set(Array.isArray(required) ? required : [])
  const fixed: Record<string, unknown> = {}
  const parts: Array<FieldPart> = []
  for (const [name, each] of Object.entries(properties)) {
    if (!isRecord(each)) return undefined
    if ("const" in each && needed.has(name)) {
      fixed[name] = each["const"]
      continue
    }
    const field = simpleField(each)
    if (field === undefined) return undefined
    const description = typeof each["description"] === "string" ? each["description"] : ""
    parts.push({ name, description, required: needed.has(name), field })
  }
  const named = Object.values(fixed).filter((value) => typeof value === "string")
  const said = typeof title === "string" ? title : named.join(", ")
  return { kind: "object", title: said, parts, fixed }
}

const ofVariant = (schema: JsonRecord): Field | undefined => {
  const simple = simpleField(schema)
  if (simple !== undefined) return simple
  const types = typesOf(schema)
  if (types.length !== 1) return undefined
  if (types[0] === "object") {
    const known = objectField(schema)
    if (known !== undefined) return known
    const { additionalProperties: each, properties } = schema
    const field = isRecord(each) && properties === undefined ? simpleField(each) : undefined
    return field === undefined ? undefined : { kind: "map", field }
  }
  if (types[0] !== "array") return undefined
  const items = isRecord(schema["items"]) ? schema["items"] : undefined
  const field = items === undefined ? undefined : (simpleField(items) ?? objectField(items))
  return field === undefined ? undefined : { kind: "list", field }
}

const json: Field = { kind: "json" }
const expression: Field = { kind: "expression" }

/**
 * The forms that a port's value can be entered in, the one to offer first in front. A form for
 * texts takes expressions, too; all others have `expression` beside them.
 */
export const fieldsOf = (schema: unknown): ReadonlyArray<Field> => {
  const given = isRecord(schema) ? schema : {}
  const simple = simpleField(given)
  if (simple?.kind === "any" && typesOf(given).length === 0 && variantsOf(given).length === 1)
    return [json, { kind: "text", isLong: true }]
  if (simple !== undefined)
    return simple.kind === "text" || simple.kind === "any" ? [simple] : [simple, expression]
  const variants = variantsOf(given)
  const forms = variants.map(ofVariant).filter((field) => field !== undefined)
  const takesText = forms.some(({ kind }) => kind === "text" || kind === "any")
  return [...forms, json, ...(takesText ? [] : [expression])]
}

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** JSON that says the same as the text, digit by digit where it is a number. */
const exactly = (text: string): { readonly value: unknown } | undefined => {
  const found = parsed(text)
  return typeof found?.value === "number" && String(found.value) !== text ? undefined : found
}

/** True for a text that begins as JSON does, and not as an expression. */
const looksJson = (text: string): boolean => /^\s*(?:["[]|\{(?!\{))/.test(text)

const simpleTyped = (field: SimpleField, value: unknown): string => {
  if (value === undefined) return ""
  if (field.kind === "any" && typeof value === "string")
    return exactly(value) === undefined && !looksJson(value) ? value : JSON.stringify(value)
  if (field.kind === "choice") return JSON.stringify(value)
  return typeof value === "string" ? value : JSON.stringify(value)
}

const number = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i

const wrong = (reason: FieldProblem["reason"], part?: string): FieldValue => ({
  problem: part === undefined ? { reason } : { reason, part },
})

const numberFrom = (text: string, isWhole: boolean): FieldValue => {
  const value = Number(text)
  if (!number.test(text) || !Number.isFinite(value)) return wrong("notNumber")
  return isWhole && !Number.isSafeInteger(value) ? wrong("notWhole") : { value }
}

const jsonFrom = (text: string): FieldValue => parsed(text) ?? wrong("notJson")

const anyFrom = (text: string): FieldValue =>
  exactly(text) ?? (looksJson(text) ? wrong("notJson") : { value: text })

const simpleValue = (field: SimpleField, text: string): FieldValue => {
  if (text === "") return { value: undefined }
  switch (field.kind) {
    case "text":
      return { value: text }
    case "number":
      return numberFrom(text.trim(), field.isWhole)
    case "any":
      return anyFrom(text)
    case "boolean":
    case "choice":
      return jsonFrom(text)
  }
}

const objectTyped = ({ parts }: ObjectField, value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parts.map(({ field, name }) => [
      name,
      simpleTyped(field, isRecord(value) ? value[name] : undefined),
    ]),
  )

const objectValue = (
  { fixed, parts }: ObjectField,
  typed: Readonly<Record<string, string>>,
): FieldValue => {
  const found: Array<readonly [string, unknown]> = []
  for (const { field, name } of parts) {
    const read = simpleValue(field, typed[name] ?? "")
    if ("problem" in read) return wrong(read.problem.reason, name)
    if (read.value !== undefined) found.push([name, read.value])
  }
  const isEmpty = found.length === 0 && Object.keys(fixed).length === 0
  return { value: isEmpty ? undefined : { ...fixed, ...Object.fromEntries(found) } }
}

const mapValue = (
  field: SimpleField,
  rows: ReadonlyArray<readonly [string, string]>,
): FieldValue => {
  const found = new Map<string, unknown>()
  for (const [name, text] of rows) {
    if (name === "" && text === "") continue
    if (name === "") return wrong("nameMissing")
    if (found.has(name)) return wrong("nameTwice", name)
    const read = simpleValue(field, text)
    if ("problem" in read) return wrong(read.problem.reason, name)
    found.set(name, read.value ?? "")
  }
  return { value: found.size === 0 ? undefined : Object.fromEntries(found) }
}

const listValue = (field: SimpleField | ObjectField, lines: ReadonlyArray<unknown>): FieldValue => {
  const found: Array<unknown> = []
  for (const [index, line] of lines.entries()) {
    const read =
      field.kind === "object"
        ? objectValue(field, isRecord(line) ? (line as Record<string, string>) : {})
        : simpleValue(field, String(line))
    if ("problem" in read) return wrong(read.problem.reason, String(index + 1))
    if (read.value !== undefined) found.push(read.value)
  }
  return { value: found.length === 0 ? undefined : found }
}

const indented = (value: unknown): string =>
  value === undefined ? "" : JSON.stringify(value, null, 2)

/** What stands in a field that shows a value. */
export const typedOf = (field: Field, value: unknown): Typed => {
  switch (field.kind) {
    case "json":
      return indented(value)
    case "expression":
      return typeof value === "string" ? value : ""
    case "object":
      return objectTyped(field, value)
    case "map":
      return Object.entries(isRecord(value) ? value : {}).map(
        ([name, each]) => [name, simpleTyped(field.field, each)] as const,
      )
    case "list": {
      const part = field.field
      const one = value === undefined || value === "" || isRecord(value) ? [] : [value]
      const items: ReadonlyArray<unknown> = Array.isArray(value) ? value : one
      return part.kind === "object"
        ? items.map((item) => objectTyped(part, item))
        : items.map((item) => simpleTyped(part, item))
    }
    default:
      return simpleTyped(field, value)
  }
}

/** The value of what is typed, or why it is none yet. */
export const valueOf = (field: Field, typed: Typed): FieldValue => {
  const text = typeof typed === "string" ? typed : ""
  switch (field.kind) {
    case "json":
      return text.trim() === "" ? { value: undefined } : jsonFrom(text)
    case "expression":
      return { value: text === "" ? undefined : text }
    case "object":
      return objectValue(field, isRecord(typed) ? typed : {})
    case "map":
      return mapValue(
        field.field,
        Array.isArray(typed) ? (typed as ReadonlyArray<[string, string]>) : [],
      )
    case "list":
      return listValue(field.field, Array.isArray(typed) ? typed : [])
    default:
      return simpleValue(field, text)
  }
}

/** True if the field shows all of the value. */
export const fits = (field: Field, value: unknown): boolean => {
  if (value === undefined) return true
  if (field.kind === "expression") return isExpression(value)
  if (field.kind === "text") return typeof value === "string"
  const isListed = field.kind !== "choice" || field.options.some((each) => isSame(each, value))
  const isOfKind = field.kind !== "boolean" || typeof value === "boolean"
  if (!isListed || !isOfKind) return false
  const read = valueOf(field, typedOf(field, value))
  return "value" in read && isSame(read.value, value)
}

/** The form to show a value in: the first but JSON that shows all of it, and else JSON. */
export const fieldFor = (fields: ReadonlyArray<Field>, value: unknown): Field => {
  const first = fields[0] ?? json
  if (value === undefined) return first
  return fields.find((field) => field.kind !== "json" && fits(field, value)) ?? json
}

/** True for two forms that a user could not tell apart. */
export const isSameForm = (left: Field, right: Field): boolean =>
  left.kind === right.kind &&
  (left.kind !== "object" || right.kind !== "object" || left.title === right.title)
