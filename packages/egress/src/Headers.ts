/**
 * The headers that a stranger may set on a request.
 *
 * Guarantees: an accepted header cannot split a request in two, change its destination, or change
 * the framing of its body. Leaves out: further headers that a caller reserves for itself.
 */

/** How many headers a request may have. */
export const maxHeaders = 50

/** How many characters all names and values of a request may have together. */
export const maxHeaderLength = 8_192

const reserved: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

const isReserved = (name: string): boolean =>
  reserved.has(name.toLowerCase()) || name.toLowerCase().startsWith("proxy-")

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** No line breaks, no control characters, nothing beyond Latin-1. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

const problemOfHeader = (name: string, value: string): string | undefined => {
  const shown = JSON.stringify(name.slice(0, 80))
  if (!token.test(name)) return `The header name ${shown} is not valid`
  if (isReserved(name)) return `The header ${shown.toLowerCase()} may not be set`
  return fieldValue.test(value) ? undefined : `The value of the header ${shown} is not valid`
}

/** Why these headers may not be sent, as one sentence; `undefined` if they may. */
export const problemOfHeaders = (headers: {
  readonly [name: string]: string
}): string | undefined => {
  const entries = Object.entries(headers)
  if (entries.length > maxHeaders) return `There are more than ${maxHeaders} headers`
  const length = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (length > maxHeaderLength) return `The headers are longer than ${maxHeaderLength} characters`
  for (const [name, value] of entries) {
    const problem = problemOfHeader(name, value)
    if (problem !== undefined) return problem
  }
  return undefined
}
