/**
 * Where two answers differ, as a sentence.
 *
 * Guarantees: answers without a difference are equal to the last value, whatever the order of the
 * keys of an object. Leaves out: anything that is not plain data.
 */

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const shownLength = 300

const shown = (value: unknown): string => {
  const text = value === undefined ? "nothing" : JSON.stringify(value)
  return text.length <= shownLength ? text : `${text.slice(0, shownLength)}...`
}

/** What the clock of a store decides. */
const clockTimes = new Set(
  "revokedAt lastUsedAt retryAfterMillis lostAt nextAttemptAt settledAt nextAt".split(" "),
)

const isClose = (key: string, model: unknown, store: unknown, slackMillis: number): boolean =>
  clockTimes.has(key) &&
  typeof model === "number" &&
  typeof store === "number" &&
  Math.abs(model - store) <= slackMillis

/**
 * The first difference of two answers, or `undefined` when there is none. Times that the clock of a
 * store decides may be so far apart.
 */
export const between = (
  model: unknown,
  store: unknown,
  slackMillis: number,
  path = "answer",
): string | undefined => {
  if (Object.is(model, store)) return undefined
  const isComparable =
    isObject(model) && isObject(store) && Array.isArray(model) === Array.isArray(store)
  if (!isComparable) return `at ${path}: the model has ${shown(model)}, the store ${shown(store)}`
  for (const key of new Set([...Object.keys(model), ...Object.keys(store)])) {
    if (isClose(key, model[key], store[key], slackMillis)) continue
    const difference = between(model[key], store[key], slackMillis, `${path}.${key}`)
    if (difference !== undefined) return difference
  }
  return undefined
}
