/**
 * Steps over an array, as data: filter, sort, group, map, sum and others.
 *
 * Guarantees: steps that pass {@link problemsOfSteps} work on any array, in time n log n and in
 * slices (`ComputePermit`). Sorting is stable, and no input is changed. Leaves out: joining arrays.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import { separatorLength, stepsPerTransform, sumsPerStep } from "@millrace/core/domain/Limits"
import { quoted } from "@millrace/core/domain/Quote"
import type { Issue } from "./internal/Checked.ts"
import { below, checked, issue, unknownKeys } from "./internal/Checked.ts"
import { parsePath, valueAt } from "@millrace/core/domain/Path"
import type { Rule } from "@millrace/core/domain/Rule"
import { compileRule, holding } from "@millrace/core/domain/Rule"
import { problemsOfRule, ruleJsonSchema } from "./Rules.ts"
import { sumOf } from "./internal/Sum.ts"
import type { Job, Work } from "@millrace/core/domain/Work"
import { charactersPerOperation, itemsPerOperation, operationsOf } from "@millrace/core/domain/Work"

/** Sorts by the value at the path, ascending by default. Items without a value come last. */
export interface SortStep {
  readonly op: "sort"
  readonly by?: string
  readonly order?: "asc" | "desc"
}

/**
 * Makes an item for each value at the path, in order of first appearance. The item has its `key`,
 * the `count` of its items unless `count` is false, and the `sums` by path if `sum` is given.
 */
export interface GroupStep {
  readonly op: "group"
  readonly by: string
  readonly sum?: ReadonlyArray<string>
  readonly count?: boolean
}

/**
 * Replaces the array by one value, so no step can follow: the number of its items; a text of all
 * items; or the sum, the least, the largest or the mean of its numbers, or of those at the path.
 */
export type FoldStep =
  | { readonly op: "count" }
  | { readonly op: "join"; readonly separator?: string }
  | { readonly op: "sum" | "min" | "max" | "average"; readonly path?: string }

/** One step over an array. */
export type Step =
  /** Keeps the items for which the rule is true. */
  | { readonly op: "filter"; readonly rule: Rule }
  | SortStep
  | GroupStep
  /** Keeps the first `n` items. */
  | { readonly op: "take"; readonly n: number }
  /** Replaces each item by its value at the path, or null. */
  | { readonly op: "map"; readonly path: string }
  /** Replaces each item that is an array by its items. */
  | { readonly op: "flatten" }
  /** Keeps the first of the items that are equal, or have equal values at the path. */
  | { readonly op: "distinct"; readonly by?: string }
  /** Replaces each text by its parts between the separators. */
  | { readonly op: "split"; readonly separator: string }
  | FoldStep

type Check = (value: Json) => ReadonlyArray<Issue>

interface Field {
  readonly required: boolean
  readonly check: Check
}

const field = (check: Check): Field => ({ required: true, check })
const optional = (check: Check): Field => ({ required: false, check })

const expecting =
  (what: string, accepts: (value: Json) => boolean): Check =>
  (value) =>
    accepts(value) ? [] : issue(`expected ${what}`)

const isPath = (value: Json) => typeof value === "string" && parsePath(value) !== undefined
const isCount = (value: Json) => typeof value === "number" && Number.isInteger(value) && value >= 0
const isPaths = (value: Json) =>
  Array.isArray(value) &&
  value.length <= sumsPerStep &&
  (value as ReadonlyArray<Json>).every(isPath)

const path = expecting("a path like user.name or items[0].id", isPath)
const paths = expecting(`an array of at most ${sumsPerStep} paths`, isPaths)
const order = expecting("asc or desc", (value) => value === "asc" || value === "desc")
const whole = expecting("a whole number from 0", isCount)
const isShort = (value: Json) => typeof value === "string" && value.length <= separatorLength
const joint = expecting(`a text of at most ${separatorLength} characters`, isShort)
const separator = expecting(
  `a text of 1 to ${separatorLength} characters`,
  (value) => isShort(value) && value !== "",
)
const flag = expecting("a boolean", (value) => typeof value === "boolean")

const shapes: { readonly [O in Step["op"]]: { readonly [key: string]: Field } } = {
  filter: { rule: field(problemsOfRule) },
  sort: { by: optional(path), order: optional(order) },
  group: { by: field(path), sum: optional(paths), count: optional(flag) },
  take: { n: field(whole) },
  map: { path: field(path) },
  flatten: {},
  distinct: { by: optional(path) },
  split: { separator: field(separator) },
  count: {},
  join: { separator: optional(joint) },
  sum: { path: optional(path) },
  min: { path: optional(path) },
  max: { path: optional(path) },
  average: { path: optional(path) },
}

const folding: ReadonlyArray<unknown> = ["count", "join", "sum", "min", "max", "average"]

const operations = Object.keys(shapes)

const isOperation = (text: unknown): text is Step["op"] =>
  typeof text === "string" && Object.hasOwn(shapes, text)

const problemsOfField = (step: JsonObject, key: string, { check, required }: Field) => {
  const value = step[key]
  if (value !== undefined) return below(check(value), key)
  return required ? below(issue("expected a value"), key) : []
}

const problemsOfStep = (step: unknown): ReadonlyArray<Issue> => {
  const op = isJsonObject(step) ? step["op"] : undefined
  if (!isJsonObject(step) || !isOperation(op)) {
    return issue(`expected an object with op, one of ${operations.join(", ")}`)
  }
  const shape = shapes[op]
  return [
    ...unknownKeys(step, ["op", ...Object.keys(shape)]),
    ...Object.entries(shape).flatMap(([key, each]) => problemsOfField(step, key, each)),
  ]
}

/** True for a step whose result is not an array. */
const isLast = (step: unknown): boolean => isJsonObject(step) && folding.includes(step["op"])

const problemsOfOrder = (steps: ReadonlyArray<unknown>): ReadonlyArray<Issue> => {
  const last = steps.findIndex(isLast)
  if (last < 0 || last === steps.length - 1) return []
  const { op } = steps[last] as Step
  return below(issue(`expected no step after ${op}: there is no array any more`), last + 1)
}

/** The problems of a value that should be steps; none if it is an array of steps. */
export const problemsOfSteps = (steps: unknown): ReadonlyArray<Issue> => {
  if (!Array.isArray(steps)) return issue("expected an array of steps")
  if (steps.length > stepsPerTransform) return issue(`expected at most ${stepsPerTransform} steps`)
  const inner = steps.flatMap((step, at) => below(problemsOfStep(step), at))
  return [...inner, ...problemsOfOrder(steps)]
}

const reader = (text: string | undefined): ((item: Json) => Json | undefined) => {
  const steps = text === undefined ? [] : (parsePath(text) ?? [])
  return (item) => valueAt(item, steps)
}

/** The order of the types of values. */
const ranks: { readonly [type: string]: number } = { number: 0, string: 1, boolean: 2, object: 3 }

const compare = (left: Json, right: Json): number => {
  const byType = (ranks[typeof left] ?? 0) - (ranks[typeof right] ?? 0)
  if (byType !== 0 || typeof left === "object") return byType
  return left === right ? 0 : left < (right as typeof left) ? -1 : 1
}

interface Keyed {
  readonly item: Json
  readonly key: Json
}

const textLength = (value: Json) => (typeof value === "string" ? value.length : 0)

/** Merges two sorted neighbors from one array into another. In a tie, the left one comes first. */
function* mergeInto(
  target: Array<Keyed>,
  source: ReadonlyArray<Keyed>,
  [from, middle, to]: readonly [number, number, number],
  sign: 1 | -1,
  work: Work,
): Job<void> {
  let left = from
  let right = middle
  for (let at = from; at < to; at++) {
    const one = left < middle ? source[left] : undefined
    const other = right < to ? source[right] : undefined
    const length = Math.min(textLength(one?.key ?? null), textLength(other?.key ?? null))
    if (work.spend(1 + length / charactersPerOperation)) yield
    const isLeft =
      other === undefined || (one !== undefined && sign * compare(one.key, other.key) <= 0)
    target[at] = isLeft ? one! : other
    if (isLeft) left++
    else right++
  }
}

/** A bottom-up merge sort, because it can pause anywhere. The array's own sort cannot. */
function* mergeSorted(items: ReadonlyArray<Keyed>, sign: 1 | -1, work: Work) {
  let source = [...items]
  let target = [...items]
  for (let width = 1; width < items.length; width *= 2) {
    for (let from = 0; from < items.length; from += 2 * width) {
      const middle = Math.min(from + width, items.length)
      const to = Math.min(from + 2 * width, items.length)
      yield* mergeInto(target, source, [from, middle, to], sign, work)
    }
    ;[source, target] = [target, source]
  }
  return source
}

function* sorted(
  items: ReadonlyArray<Json>,
  { by, order: direction }: SortStep,
  work: Work,
): Job<ReadonlyArray<Json>> {
  const read = reader(by)
  const present: Array<Keyed> = []
  const missing: Array<Json> = []
  for (const item of items) {
    const key = read(item) ?? null
    if (key === null) missing.push(item)
    else present.push({ item, key })
    if (work.spend(1)) yield
  }
  const ordered = yield* mergeSorted(present, direction === "desc" ? -1 : 1, work)
  return [...ordered.map(({ item }) => item), ...missing]
}

function* numbersOf(
  items: ReadonlyArray<Json>,
  text: string | undefined,
  work: Work,
): Job<ReadonlyArray<number>> {
  const read = reader(text)
  const numbers: Array<number> = []
  for (const [at, item] of items.entries()) {
    if (work.spend(1)) yield
    const value = read(item) ?? null
    if (value === null) continue
    if (typeof value !== "number") {
      throw new Error(`item ${at}${text === undefined ? "" : `: ${quoted(text)}`} is not a number`)
    }
    numbers.push(value)
  }
  return numbers
}

function* total(items: ReadonlyArray<Json>, text: string | undefined, work: Work): Job<number> {
  const sum = sumOf(yield* numbersOf(items, text, work))
  if (Number.isFinite(sum)) return sum
  throw new Error("the sum is larger than a number can be")
}

const largest = (numbers: ReadonlyArray<number>, sign: 1 | -1): number | null => {
  let found: number | null = null
  for (const each of numbers) if (found === null || sign * (each - found) > 0) found = each
  return found
}

function* mean(items: ReadonlyArray<Json>, text: string | undefined, work: Work) {
  const numbers = yield* numbersOf(items, text, work)
  return numbers.length === 0 ? null : (yield* total(numbers, undefined, work)) / numbers.length
}

const textOf = (item: Json): string =>
  typeof item === "string" ? item : item === null ? "" : JSON.stringify(item)

function* joined(items: ReadonlyArray<Json>, between: string, work: Work): Job<string> {
  const texts: Array<string> = []
  for (const item of items) {
    const text = textOf(item)
    if (work.spend(operationsOf(text))) yield
    texts.push(text)
  }
  return texts.join(between)
}

/** Every item replaced by several. */
function* replaced(
  items: ReadonlyArray<Json>,
  replace: (item: Json, at: number) => ReadonlyArray<Json>,
  work: Work,
): Job<ReadonlyArray<Json>> {
  const all: Array<Json> = []
  for (const [at, item] of items.entries()) {
    const several = replace(item, at)
    if (work.spend(1 + textLength(item) / charactersPerOperation + several.length)) yield
    for (const each of several) all.push(each)
  }
  return all
}

const isItems = (item: Json): item is ReadonlyArray<Json> => Array.isArray(item)

const parts =
  (between: string) =>
  (item: Json, at: number): ReadonlyArray<string> => {
    if (typeof item === "string") return item.split(between)
    throw new Error(`item ${at} is not a text`)
  }

function* distinct(
  items: ReadonlyArray<Json>,
  by: string | undefined,
  work: Work,
): Job<ReadonlyArray<Json>> {
  const read = reader(by)
  const seen = new Set<string>()
  const kept: Array<Json> = []
  for (const item of items) {
    const name = JSON.stringify(read(item) ?? null)
    if (work.spend(operationsOf(name))) yield
    if (seen.has(name)) continue
    seen.add(name)
    kept.push(item)
  }
  return kept
}

function* fold(
  items: ReadonlyArray<Json>,
  step: FoldStep,
  work: Work,
): Job<number | string | null> {
  switch (step.op) {
    case "count":
      return items.length
    case "join":
      return yield* joined(items, step.separator ?? ", ", work)
    case "sum":
      return yield* total(items, step.path, work)
    case "average":
      return yield* mean(items, step.path, work)
    default:
      return largest(yield* numbersOf(items, step.path, work), step.op === "max" ? 1 : -1)
  }
}

interface Group {
  readonly key: Json
  readonly items: Array<Json>
}

function* summary({ items, key }: Group, step: GroupStep, work: Work): Job<JsonObject> {
  const sums: Array<[path: string, sum: number]> = []
  for (const each of step.sum ?? []) sums.push([each, yield* total(items, each, work)])
  return {
    key,
    ...(step.count === false ? {} : { count: items.length }),
    ...(step.sum === undefined ? {} : { sums: Object.fromEntries(sums) }),
  }
}

function* grouped(
  items: ReadonlyArray<Json>,
  step: GroupStep,
  work: Work,
): Job<ReadonlyArray<JsonObject>> {
  const read = reader(step.by)
  const groups = new Map<string, Group>()
  for (const item of items) {
    const key = read(item) ?? null
    const name = JSON.stringify(key)
    if (work.spend(operationsOf(name))) yield
    const group = groups.get(name) ?? { key, items: [] }
    group.items.push(item)
    groups.set(name, group)
  }
  const summaries: Array<JsonObject> = []
  for (const group of groups.values()) {
    if (work.spend(1)) yield
    summaries.push(yield* summary(group, step, work))
  }
  return summaries
}

function* perform(items: ReadonlyArray<Json>, step: Step, work: Work): Job<Listed["output"]> {
  if (work.spend(1 + items.length / itemsPerOperation)) yield
  switch (step.op) {
    case "filter":
      return yield* holding(compileRule(step.rule), items, work)
    case "sort":
      return yield* sorted(items, step, work)
    case "group":
      return yield* grouped(items, step, work)
    case "take":
      return items.slice(0, step.n)
    case "map": {
      const read = reader(step.path)
      return yield* replaced(items, (item) => [read(item) ?? null], work)
    }
    case "flatten":
      return yield* replaced(items, (item) => (isItems(item) ? item : [item]), work)
    case "distinct":
      return yield* distinct(items, step.by, work)
    case "split":
      return yield* replaced(items, parts(step.separator), work)
    default:
      return yield* fold(items, step, work)
  }
}

const isArray = (value: Listed["output"]): value is ReadonlyArray<Json> => Array.isArray(value)

/** The result of the steps, and how many items the last array had. */
export interface Listed {
  readonly output: ReadonlyArray<Json> | number | string | null
  readonly count: number
}

/**
 * Performs steps that have no problems. Throws an `Error`, whose message is a clause, if a sum
 * finds a value that is not a number, or `split` an item that is not a text. Sums and the like skip
 * missing values and nulls.
 */
export function* carryOut(
  items: ReadonlyArray<Json>,
  steps: ReadonlyArray<Step>,
  work: Work,
): Job<Listed> {
  let current = items
  for (const step of steps) {
    const next = yield* perform(current, step, work)
    if (!isArray(next)) return { output: next, count: current.length }
    current = next
  }
  return { output: current, count: current.length }
}

/** The schema of a port that takes steps. */
export const StepsInput = checked<ReadonlyArray<Step>>(problemsOfSteps, {
  description:
    'Steps in order, each an object with "op": filter { rule }, sort { by, order }, ' +
    "group { by, sum, count }, take { n }, map { path }, flatten, distinct { by }, " +
    "split { separator }; at the end count, join { separator }, sum { path }, min { path }, " +
    "max { path } or average { path }.",
  jsonSchema: {
    type: "array",
    items: {
      type: "object",
      required: ["op"],
      properties: { op: { type: "string", enum: operations }, rule: ruleJsonSchema },
    },
  },
})
