/**
 * When two JSON values are the same value.
 *
 * Guarantees: the order of an object's keys does not matter, the order of an array's elements
 * does; `1` and `"1"` differ. It does not recurse, so a deep value cannot overflow the stack.
 */
import type { Json, JsonObject } from "./Json.ts"
import type { Work } from "./Work.ts"
import { itemsPerOperation, operationsOf } from "./Work.ts"

const pairsOfArrays = (left: ReadonlyArray<Json>, right: ReadonlyArray<Json>) =>
  left.length === right.length
    ? left.map((value, position): [Json, Json] => [value, right[position] ?? null])
    : undefined

const pairsOfObjects = (left: JsonObject, right: JsonObject, work: Work) => {
  const keys = Object.keys(left)
  work.spend(keys.length / itemsPerOperation)
  return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key))
    ? keys.map((key): [Json, Json] => [left[key] ?? null, right[key] ?? null])
    : undefined
}

/** The inner pairs that must be equal; `undefined` if the two values differ anyway. */
const pairsWithin = (
  left: Json,
  right: Json,
  work: Work,
): ReadonlyArray<[Json, Json]> | undefined => {
  if (left === right) return []
  if (typeof left !== "object" || left === null) return undefined
  if (typeof right !== "object" || right === null) return undefined
  if (Array.isArray(left)) return Array.isArray(right) ? pairsOfArrays(left, right) : undefined
  return Array.isArray(right)
    ? undefined
    : pairsOfObjects(left as JsonObject, right as JsonObject, work)
}

/** True if both are the same JSON value. Counts every comparison as work. */
export const isSame = (left: Json, right: Json, work: Work): boolean => {
  const pending: Array<[Json, Json]> = [[left, right]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    work.spend(typeof pair[0] === "string" ? operationsOf(pair[0]) : 1)
    const within = pairsWithin(pair[0], pair[1], work)
    if (within === undefined) return false
    for (const each of within) pending.push(each)
  }
  return true
}
