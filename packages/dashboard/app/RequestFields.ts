/**
 * The values that a workflow asks for, as texts of a form and back.
 *
 * Guarantees: pure. A field that is left empty is not given, so the workflow's default holds.
 */
import type { Workflow } from "@millrace/api/PromiseClient"

/** A field of a request node. */
export interface RequestField {
  readonly name: string
  readonly type: string
  readonly description?: string
  readonly required?: boolean
  readonly default?: unknown
}

/** The fields of a workflow's request node; none without such a node. */
export const fieldsOf = ({ nodes }: Pick<Workflow, "nodes">): ReadonlyArray<RequestField> => {
  const request = nodes.find(({ type }) => type === "request")
  const { inputs } = (request?.data ?? {}) as { readonly inputs?: { readonly fields?: unknown } }
  const fields = inputs?.fields
  return Array.isArray(fields)
    ? fields.filter(
        (field): field is never =>
          typeof field === "object" &&
          field !== null &&
          typeof (field as { readonly name?: unknown }).name === "string",
      )
    : []
}

/** A value as it stands in the form. */
export const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : JSON.stringify(value)
}

/** What a start is given. */
export type Values = Record<string, never>

const valueOf = ({ name, type }: RequestField, text: string): unknown => {
  if (type === "string") return text
  try {
    return JSON.parse(text)
  } catch {
    throw new TypeError(
      `${name}: expected JSON of type ${type}, such as ${samples[type] ?? "null"}`,
    )
  }
}

const samples: Readonly<Record<string, string>> = {
  number: "1.5",
  boolean: "true",
  object: '{ "name": "Ada" }',
  array: "[1, 2]",
}

/** The values of the texts, or the first thing that is wrong with them. */
export const valuesOf = (
  fields: ReadonlyArray<RequestField>,
  texts: Readonly<Record<string, string>>,
): { readonly values?: Values; readonly problem?: string } => {
  try {
    const given = fields.filter(({ name }) => (texts[name] ?? "") !== "")
    const values = given.map((field) => [field.name, valueOf(field, texts[field.name]!)] as const)
    return { values: Object.fromEntries(values) as Values }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}
