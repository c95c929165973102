/**
 * Answers in pages: after each of them an expression over it says where the next one is.
 *
 * Guarantees: no more pages and bytes than allowed. A page is called as a redirect is: through the
 * guard, and without what says who asks where it is at another origin. The expression never sees a
 * secret that a page repeats. Leaves out: pages that are asked for by anything but GET.
 */
import type { Json } from "@millrace/core/domain/Json"
import { expressionJsonLength, pagesBytes } from "@millrace/core/domain/Limits"
import type { LiteralScript } from "@millrace/core/domain/NodeType"
import { quoted } from "@millrace/core/domain/Quote"
import type { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import { Effect } from "effect"
import { failure } from "./HttpAnswer.ts"
import type { Journey } from "./Redirects.ts"
import { movedTo } from "./Redirects.ts"

/** What `next` sees of an answer. */
const names = ["response", "body", "page"]

const form = /^\s*\{\{\s*([^\s][\s\S]*?)\s*\}\}\s*$/

/** The JavaScript of a `next`; `undefined` if it is not one expression in braces. */
export const scriptOf = (next: unknown): LiteralScript | undefined => {
  const [, text] = typeof next === "string" ? (form.exec(next) ?? []) : []
  if (text === undefined) return undefined
  return { text, names, isBody: false, at: (next as string).indexOf(text) }
}

/** An answer as `next` sees it. */
export interface Page {
  readonly response: {
    readonly status: number
    readonly headers: { readonly [name: string]: string }
  }
  readonly body: Json
  /** From 1. */
  readonly page: number
}

const refuse = (why: string) => Effect.fail(failure(`next: ${why}`, false))

/** The address that an expression gives, where the last one was; `undefined` for none. */
const addressOf = (value: Json | undefined, url: string) => {
  if (value === undefined || value === null || value === false || value === "") {
    return Effect.succeed(undefined)
  }
  const found = typeof value === "string" ? URL.parse(value, url) : null
  if (found !== null) return Effect.succeed(found.href)
  const given = JSON.stringify(value).slice(0, 100)
  return refuse(`it gives ${quoted(given)}; expected an address, or nothing`)
}

/** Where the next page is, as an expression over this one says. */
const nextOf = Effect.fnUntraced(function* (
  { text }: LiteralScript,
  answered: Page,
  url: string,
  { accountId: account, confined, workflowId }: CurrentNode["Service"],
) {
  const scope = JSON.stringify({ nodes: answered })
  if (scope.length > expressionJsonLength) {
    return yield* refuse(
      `the page has ${scope.length} characters as JSON; at most ${expressionJsonLength} are read`,
    )
  }
  // In JavaScript it could be cut into pieces that nobody recognizes, and then be sent anywhere.
  const repeated = confined.find(({ occursIn }) => occursIn(scope))
  if (repeated !== undefined) {
    return yield* refuse(`the page repeats the secret ${quoted(repeated.name)}`)
  }
  const { evaluate } = yield* CurrentEvaluator
  const definitionId = `${workflowId} pages`
  const scripts = [{ text, names, scope }]
  const [given] = yield* evaluate({ account, definitionId, scripts })
  if (given?._tag === "Value") {
    const value = given.json === undefined ? undefined : (JSON.parse(given.json) as Json)
    return yield* addressOf(value, url)
  }
  const retryable = given?.isRetryable ?? true
  return yield* failure(`next: {{ ${text} }}: ${given?.message ?? "no answer"}`, retryable)
})

/** One page: what it puts out, its bytes, and the request that it belongs to. */
export interface Fetched {
  readonly response: Page["response"]
  readonly body: Json
  readonly bytes: number
  readonly journey: Journey
}

/** Calls page after page, as `fetch` calls one. */
export const allPages = Effect.fnUntraced(function* <E, R>(
  first: Journey,
  next: string,
  most: number,
  node: CurrentNode["Service"],
  fetch: (journey: Journey) => Effect.Effect<Fetched, E, R>,
) {
  const script = scriptOf(next)
  if (script === undefined) return yield* refuse("expected one expression: {{ body.next }}")
  const bodies: Array<Json> = []
  let journey = first
  let bytes = 0
  for (;;) {
    const fetched = yield* fetch(journey)
    const { body, response } = fetched
    bytes += fetched.bytes
    if (bytes > pagesBytes) {
      return yield* failure(`the pages have more than ${pagesBytes} bytes together`, false)
    }
    const page = bodies.push(body)
    const url = yield* nextOf(script, { response, body, page }, fetched.journey.url, node)
    if (url === undefined) return { response, body: bodies }
    if (page === most) return { response, body: bodies, next: url }
    journey = movedTo(fetched.journey, url, node.confined)
  }
})
