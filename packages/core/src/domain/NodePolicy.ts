/**
 * The policy of a node: how often and when it is tried again, how long an attempt may take, and
 * what follows when its last attempt fails.
 *
 * The policy is in the node's `data`, under the keys `retry`, `timeout`, `onError` and `default`.
 * The node type has the defaults.
 *
 * Guarantees: pure; an invalid value is reported with its path and never corrected. Leaves out:
 * waiting.
 */
import * as Duration from "effect/Duration"
import type { JsonObject } from "./Json.ts"
import { isJsonObject } from "./Json.ts"
import { attemptsPerNode, policyMillis } from "./Limits.ts"
import { plain } from "./Quote.ts"

/** How often a node is attempted, and how long it waits in between. */
export interface RetryPolicy {
  /** Attempts in all, from 1. */
  readonly attempts: number
  /** The wait after the first attempt. */
  readonly initialMillis: number
  /** Each wait is so many times as long as the one before; from 1. */
  readonly factor: number
  /** The longest wait. */
  readonly maxMillis: number
  /** By which fraction a wait is randomly longer or shorter at most: 0.1 is 10 %. */
  readonly jitter: number
}

/** What follows when the last attempt of a node fails. */
export const onErrors = ["fail", "route", "default"] as const
export type OnError = (typeof onErrors)[number]

/** The policy of one node. */
export interface NodePolicy {
  readonly retry: RetryPolicy
  /** How long one attempt may take; `undefined`: no bound. */
  readonly timeoutMillis: number | undefined
  /**
   * `fail`: the node is FAILED. `route`: it is COMPLETED and the error leaves on the port `error`.
   * `default`: it is COMPLETED with `fallback` as its output.
   */
  readonly onError: OnError
  readonly fallback: JsonObject | undefined
}

/** The defaults that a node type has for its nodes. */
export interface TypePolicy {
  readonly retry?: Partial<RetryPolicy> | undefined
  readonly timeoutMillis?: number | undefined
}

/** One attempt. If a node asks for more, they follow after 1 s, 2 s, 4 s ... up to 60 s. */
export const defaultRetry: RetryPolicy = {
  attempts: 1,
  initialMillis: 1_000,
  factor: 2,
  maxMillis: 60_000,
  jitter: 0.1,
}

const hasRetryAfter = (millis: number | undefined): millis is number =>
  millis !== undefined && Number.isFinite(millis) && millis >= 0

/**
 * How long to wait after an attempt, in whole milliseconds. `random` is in [0, 1). A `retryAfter`
 * of the handler replaces the backoff, up to a year.
 */
export const delayMillis = (
  policy: RetryPolicy,
  attempt: number,
  random: number,
  retryAfterMillis: number | undefined,
): number => {
  if (hasRetryAfter(retryAfterMillis)) {
    return Math.ceil(Math.min(retryAfterMillis, policyMillis))
  }
  const backoff = policy.initialMillis * policy.factor ** (attempt - 1)
  const jittered = Math.min(backoff, policy.maxMillis) * (1 + policy.jitter * (2 * random - 1))
  return Math.round(Math.min(jittered, policy.maxMillis))
}

/**
 * A length of time as people write it, in milliseconds: a number of them, or text such as
 * `30 seconds`. `undefined` for what is no length of time.
 */
export const millisOf = (value: unknown): number | undefined => {
  if (typeof value !== "number" && typeof value !== "string") return undefined
  const duration = Duration.fromInput(value as Duration.Input)
  const millis = duration._tag === "Some" ? Duration.toMillis(duration.value) : Number.NaN
  return Number.isFinite(millis) ? millis : undefined
}

const durationRule = `a number of milliseconds or text such as "30 seconds"`

/** Why a value is no length of time from `least` milliseconds to a year; `undefined` if it is. */
export const durationProblem = (value: unknown, least: number): string | undefined => {
  const result = durationFrom(least)(value)
  return typeof result === "string" ? result : undefined
}

type Reader<A> = (value: unknown) => A | string

const durationFrom =
  (least: number): Reader<number> =>
  (value) => {
    const millis = millisOf(value)
    if (millis === undefined) return `expected ${durationRule}`
    if (millis < least) return `expected at least ${least} ms`
    return millis > policyMillis ? "expected at most a year" : millis
  }

const numberFrom =
  (least: number, most: number, what: string): Reader<number> =>
  (value) =>
    typeof value === "number" && value >= least && value <= most
      ? value
      : `expected ${what} from ${least} to ${most}`

const wholeFrom =
  (least: number, most: number): Reader<number> =>
  (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= least && value <= most
      ? value
      : `expected a whole number from ${least} to ${most}`

/** The keys of `retry` in a node's data, with what each may be and which part of a policy it is. */
const retryKeys: Readonly<Record<string, readonly [keyof RetryPolicy, Reader<number>]>> = {
  attempts: ["attempts", wholeFrom(1, attemptsPerNode)],
  initial: ["initialMillis", durationFrom(0)],
  factor: ["factor", numberFrom(1, 100, "a number")],
  max: ["maxMillis", durationFrom(0)],
  jitter: ["jitter", numberFrom(0, 1, "a number")],
}

/** The policy in a node's data, and the problems of that data. */
export interface ReadPolicy {
  readonly policy: NodePolicy
  /** Clauses that begin with a path below the node's data: `retry.factor: expected ...`. */
  readonly problems: ReadonlyArray<string>
}

const readRetry = (given: unknown, problems: Array<string>): Partial<RetryPolicy> => {
  if (given === undefined) return {}
  if (!isJsonObject(given)) {
    problems.push("retry: expected an object")
    return {}
  }
  const read: { -readonly [K in keyof RetryPolicy]?: RetryPolicy[K] } = {}
  for (const [key, value] of Object.entries(given)) {
    const known = Object.hasOwn(retryKeys, key) ? retryKeys[key] : undefined
    if (known === undefined) {
      problems.push(`retry.${plain(key)}: unknown; known are ${Object.keys(retryKeys).join(", ")}`)
      continue
    }
    const result = known[1](value)
    if (typeof result === "string") problems.push(`retry.${key}: ${result}`)
    else read[known[0]] = result
  }
  return read
}

const readTimeout = (given: unknown, problems: Array<string>): number | undefined => {
  if (given === undefined) return undefined
  const result = durationFrom(1)(given)
  if (typeof result === "number") return result
  problems.push(`timeout: ${result}`)
  return undefined
}

const readOnError = (given: unknown, problems: Array<string>): OnError | undefined => {
  if (given === undefined) return undefined
  const known = onErrors.find((each) => each === given)
  if (known === undefined) problems.push(`onError: expected one of ${onErrors.join(", ")}`)
  return known
}

const readFallback = (given: unknown, problems: Array<string>): JsonObject | undefined => {
  if (given === undefined || isJsonObject(given)) return given
  problems.push("default: expected an object with a value per output")
  return undefined
}

/** The problems of a node type's defaults, in the same words as for a node's data. */
export const problemsOfType = ({ retry, timeoutMillis }: TypePolicy): ReadonlyArray<string> => {
  const given = Object.entries(retryKeys).flatMap(([key, [property]]) =>
    retry?.[property] === undefined ? [] : [[key, retry[property]] as const],
  )
  const problems: Array<string> = []
  readRetry(Object.fromEntries(given), problems)
  readTimeout(timeoutMillis, problems)
  return problems
}

/** A whole policy. If the first wait is longer than the default longest wait, it is not cut. */
const retryOf = (given: Partial<RetryPolicy>): RetryPolicy => {
  const { initialMillis = defaultRetry.initialMillis } = given
  const maxMillis = Math.max(defaultRetry.maxMillis, initialMillis)
  return { ...defaultRetry, maxMillis, ...given }
}

/**
 * Reads the policy of a node from its data and the defaults of its type. If an edge starts at the
 * port `error` and the data has no `onError`, the policy is `route`.
 */
export const readPolicy = (data: unknown, type: TypePolicy, routed: boolean): ReadPolicy => {
  const problems: Array<string> = []
  const own: JsonObject = isJsonObject(data) ? data : {}
  const retry = retryOf({ ...type.retry, ...readRetry(own["retry"], problems) })
  const timeoutMillis = readTimeout(own["timeout"], problems) ?? type.timeoutMillis
  const onError = readOnError(own["onError"], problems) ?? (routed ? "route" : "fail")
  const fallback = readFallback(own["default"], problems)
  if (onError === "default" && fallback === undefined) {
    problems.push('default: missing, although onError is "default"')
  }
  return { policy: { retry, timeoutMillis, onError, fallback }, problems }
}
