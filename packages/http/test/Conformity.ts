/**
 * Whether an answer is one that the OpenAPI document promises: its status, its headers, its media
 * type and the form of its body.
 */
import { Ajv2020 } from "ajv/dist/2020.js"
import type { Document, Operation } from "./Operations.ts"

/** Headers that an answer may have or not. */
const optional = new Set(["Idempotent-Replayed", "Accept-Encoding"])

/** An answer as it came. */
export interface Said {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Makes what says why an answer is not as the document has it; `undefined` where it is. */
export const makeDeviationOf = (document: Document) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: "document", components: document.components })
  const compiled = new Map<object, (value: unknown) => string | undefined>()
  const checkOf = (schema: object) => {
    const known = compiled.get(schema)
    if (known !== undefined) return known
    const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components')
    const validate = ajv.compile(JSON.parse(text) as object)
    const check = (value: unknown) =>
      validate(value) ? undefined : ajv.errorsText(validate.errors)
    compiled.set(schema, check)
    return check
  }

  /** Errors have one key and nothing else, which a schema that lets answers grow cannot say. */
  const deviationOfError = (body: unknown) => {
    const keys = Object.keys(body as object)
    return keys.length === 1 && keys[0] === "error" ? undefined : `the error has ${keys.join(", ")}`
  }

  return (operation: Operation, { headers, status, text }: Said): string | undefined => {
    const response = operation.responses[String(status)]
    if (response === undefined) return `${status} is not in the document`
    const missing = Object.keys(response.headers ?? {}).filter(
      (name) => !optional.has(name) && !headers.has(name),
    )
    if (missing.length > 0) return `${status} without ${missing.join(", ")}`
    if (headers.get("x-content-type-options") !== "nosniff") return "may be sniffed"
    const [[type, media] = []] = Object.entries(response.content ?? {})
    if (type === undefined) return text === "" ? undefined : `${status} has a body`
    if (headers.get("content-type")?.split(";")[0] !== type) return `${status} is not ${type}`
    if (type !== "application/json") return undefined
    const body: unknown = JSON.parse(text)
    return (status >= 400 ? deviationOfError(body) : undefined) ?? checkOf(media!.schema)(body)
  }
}
