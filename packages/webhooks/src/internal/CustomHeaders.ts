/**
 * The headers that a client may have sent along with its deliveries.
 *
 * Guarantees: none of them can pass for one of ours, change where a request goes, or end it early.
 * Asked when a run starts and once more before anything is sent.
 */
import { webhookHeaderBytes, webhookHeaders } from "@millrace/core/domain/Limits"
import { quoted } from "@millrace/core/domain/Quote"
import { problemOfHeaders } from "@millrace/egress/Headers"

/** Names and values. */
export type Headers = Readonly<Record<string, string>>

const reserved = new Set(["user-agent", "proxy-connection"])

/** Headers that a delivery has of its own, or that describe its body. */
const isOurs = (name: string): boolean => {
  const lower = name.toLowerCase()
  return reserved.has(lower) || lower.startsWith("webhook-") || lower.startsWith("content-")
}

const bytesOf = (headers: Headers): number =>
  Object.entries(headers).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  )

/** Why these headers may not be sent, as a clause, or `undefined` when they may. */
export const problemOf = (headers: Headers): string | undefined => {
  const names = Object.keys(headers)
  if (names.length > webhookHeaders) return `there are more than ${webhookHeaders}`
  if (bytesOf(headers) > webhookHeaderBytes)
    return `they have more than ${webhookHeaderBytes} bytes`
  const ours = names.find(isOurs)
  if (ours !== undefined) return `the header ${quoted(ours.toLowerCase())} may not be set`
  const problem = problemOfHeaders(headers)
  return problem === undefined ? undefined : problem.charAt(0).toLowerCase() + problem.slice(1)
}

/** Those of these headers that may be sent. */
export const allowed = (headers: Headers): Headers =>
  Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => problemOf({ [name]: value }) === undefined),
  )
