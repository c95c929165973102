/**
 * The rules for headers that a client adds to its deliveries. They are checked when a run starts,
 * and again before each attempt.
 *
 * Guarantees: no such header can replace a header of ours, change the address of a request, or end
 * the request early.
 */
import { webhookHeaderBytes, webhookHeaders } from "@millrace/core/domain/Limits"
import { quoted } from "@millrace/core/domain/Quote"
import { problemOfHeaders } from "@millrace/egress/Headers"

/** Names and values. */
export type Headers = Readonly<Record<string, string>>

const reserved = new Set(["user-agent", "proxy-connection"])

/** True for headers that the dispatcher sets, and for those that describe the body. */
const isOurs = (name: string): boolean => {
  const lower = name.toLowerCase()
  return reserved.has(lower) || lower.startsWith("webhook-") || lower.startsWith("content-")
}

const bytesOf = (headers: Headers): number =>
  Object.entries(headers).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  )

/** Why these headers may not be sent, as part of a sentence; `undefined` if they may. */
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

/** Drops the headers that may not be sent. */
export const allowed = (headers: Headers): Headers =>
  Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => problemOf({ [name]: value }) === undefined),
  )
