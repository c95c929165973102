/**
 * A request that redirects and pages lead to other addresses, by the rules of fetch.
 *
 * Guarantees: every address is called through the egress guard, which judges it as if the graph had
 * named it. Once a request has left its origin, it has no cookies, no auth, no header with a
 * secret, and of all others only those that say nothing about who asks, also when it comes back.
 * Leaves out: which answers are failures.
 */
import type { CurrentNode } from "@millrace/core/engine/CurrentNode"
import type { Answer, Call } from "@millrace/egress/Egress"
import { Egress } from "@millrace/egress/Egress"
import { Effect } from "effect"
import { ofEgress } from "./EgressError.ts"
import { failure } from "./HttpAnswer.ts"

/** A request on its way. */
export interface Journey extends Pick<Call, "method" | "url" | "body" | "timeoutMillis"> {
  /** The headers of the graph. */
  readonly headers: { readonly [name: string]: string }
  /** The type of the body, unless the headers have one. */
  readonly bodyType?: string
}

/** An answer, and the request that it belongs to after all redirects. */
export interface Arrival {
  readonly answer: Answer
  readonly journey: Journey
}

/** True for a method that changes nothing. */
export const isRead = (method: string): boolean => method === "GET" || method === "HEAD"

/** What a header may be that goes to a host which the graph has not named. */
const plain: ReadonlySet<string> = new Set([
  "accept",
  "accept-language",
  "content-type",
  "idempotency-key",
  "user-agent",
])

type Confined = CurrentNode["Service"]["confined"]

/** The request at another address. */
export const movedTo = (journey: Journey, url: string, confined: Confined): Journey => {
  if (new URL(journey.url).origin === new URL(url).origin) return { ...journey, url }
  const kept = Object.entries(journey.headers).filter(
    ([name, value]) =>
      plain.has(name.toLowerCase()) && !confined.some(({ occursIn }) => occursIn(value)),
  )
  return { ...journey, url, headers: Object.fromEntries(kept) }
}

/** The request as a GET without a body. */
const asGet = ({ headers, timeoutMillis, url }: Journey): Journey => {
  const others = Object.entries(headers).filter(([name]) => !/^content-/i.test(name))
  return {
    method: "GET",
    url,
    headers: Object.fromEntries(others),
    ...(timeoutMillis === undefined ? {} : { timeoutMillis }),
  }
}

const statuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The address of a redirect as it is written; `undefined` for any other answer. */
export const locationOf = ({ headers, status }: Answer): string | undefined =>
  statuses.has(status) ? headers["location"] : undefined

/** True where the request after a redirect is a GET, whatever it was before. */
const becomesGet = (method: string, status: number): boolean =>
  status === 303 ? !isRead(method) : (status === 301 || status === 302) && method === "POST"

const withDefault = (headers: Journey["headers"], name: string, value: string) =>
  Object.keys(headers).some((each) => each.toLowerCase() === name)
    ? headers
    : { ...headers, [name]: value }

const callOf = (
  { body, bodyType, headers, method, timeoutMillis, url }: Journey,
  { accountId, idempotencyKey }: CurrentNode["Service"],
): Call => {
  const agent = withDefault(headers, "user-agent", "millrace")
  const named = isRead(method) ? agent : withDefault(agent, "idempotency-key", idempotencyKey)
  const typed = bodyType === undefined ? named : withDefault(named, "content-type", bodyType)
  return {
    method,
    account: accountId,
    url,
    headers: typed,
    ...(body === undefined ? {} : { body }),
    ...(timeoutMillis === undefined ? {} : { timeoutMillis }),
  }
}

/** Sends a request and follows so many redirects; then a further one is the answer. */
export const send = Effect.fnUntraced(function* (
  begun: Journey,
  redirects: number,
  node: CurrentNode["Service"],
) {
  const { request } = yield* Egress
  let journey = begun
  for (let followed = 0; ; followed++) {
    const before = followed === 0 ? "" : "After a redirect: "
    const answer = yield* request(callOf(journey, node)).pipe(
      Effect.mapError((error) => ofEgress(error, before)),
    )
    const location = followed < redirects ? locationOf(answer) : undefined
    if (location === undefined) return { answer, journey } satisfies Arrival
    const next = URL.parse(location, journey.url)
    if (next === null) {
      const { hostname } = new URL(journey.url)
      return yield* failure(`${hostname} redirects to something that is no address`, false)
    }
    if (becomesGet(journey.method, answer.status)) journey = asGet(journey)
    journey = movedTo(journey, next.href, node.confined)
  }
})
