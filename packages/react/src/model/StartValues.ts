/**
 * The values that a workflow asks for at its start, as texts of a form and back.
 *
 * Guarantees: pure. A field that is left empty is not given, so the workflow's default holds.
 */

/** A field of a request node. */
export interface StartField {
  readonly name: string
  readonly type: string
  readonly description?: string
  readonly required?: boolean
  readonly default?: unknown
}

interface Drawn {
  readonly nodes: ReadonlyArray<{ readonly type: string; readonly data?: unknown }>
}

/** The fields of the request node; none without such a node. */
export const startFieldsOf = ({ nodes }: Drawn): ReadonlyArray<StartField> => {
  const request = nodes.find(({ type }) => type === "request")
  const { inputs } = (request?.data ?? {}) as { readonly inputs?: { readonly fields?: unknown } }
  const fields: unknown = inputs?.fields
  if (!Array.isArray(fields)) return []
  return fields
    .filter(
      (field): field is StartField =>
        typeof field === "object" &&
        field !== null &&
        typeof (field as { readonly name?: unknown }).name === "string",
    )
    .map((field) => ({ ...field, type: field.type ?? "string" }))
}

/** A value as it stands in the form. */
export const startTextOf = (value: unknown): string => {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : JSON.stringify(value)
}

/** The values of the texts, and the fields whose text is not JSON. */
export const startValuesOf = (
  fields: ReadonlyArray<StartField>,
  texts: Readonly<Record<string, string>>,
): { readonly values: Record<string, never>; readonly wrong: ReadonlyArray<StartField> } => {
  const values: Record<string, unknown> = {}
  const wrong: Array<StartField> = []
  for (const field of fields) {
    const text = Object.hasOwn(texts, field.name) ? texts[field.name]! : ""
    if (text === "") continue
    try {
      values[field.name] = field.type === "string" ? text : JSON.parse(text)
    } catch {
      wrong.push(field)
    }
  }
  return { values: values as Record<string, never>, wrong }
}
