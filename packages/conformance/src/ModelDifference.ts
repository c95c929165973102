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

/** The first difference of two answers, or `undefined` when there is none. */
export const between = (model: unknown, store: unknown, path = "answer"): string | undefined => {
  if (Object.is(model, store)) return undefined
  const isComparable =
    isObject(model) && isObject(store) && Array.isArray(model) === Array.isArray(store)
  if (!isComparable) return `at ${path}: the model has ${shown(model)}, the store ${shown(store)}`
  for (const key of new Set([...Object.keys(model), ...Object.keys(store)])) {
    const difference = between(model[key], store[key], `${path}.${key}`)
    if (difference !== undefined) return difference
  }
  return undefined
}
