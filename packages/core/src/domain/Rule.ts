/**
 * Rules: conditions over a JSON value, as data. A test compares the value at a path with another
 * value; `all`, `any` and `not` combine rules.
 *
 * Guarantees: judging a value takes time linear in rule and value, in slices (see `Work`); there
 * are no patterns and no code. If there is no value at the path, a test is false, except
 * `notEquals` and `isEmpty`. Leaves out: whether a value is a rule; the port that takes one says
 * that.
 */
import { isSame } from "./Equality.ts"
import type { Json, JsonObject } from "./Json.ts"
import type { Path } from "./Path.ts"
import { parsePath, valueAt } from "./Path.ts"
import type { Job } from "./Work.ts"
import { itemsPerOperation, operationsOf, Work } from "./Work.ts"

/** Judges the value at the path; `undefined` if there is none. */
type Predicate = (actual: Json | undefined, work: Work) => boolean

interface Meaning {
  /** Why a test may not have this value. The value is `undefined` if the test has none. */
  readonly problemOf: (value: Json | undefined) => string | undefined
  readonly compile: (value: Json) => Predicate
}

const isScalar = (value: Json) => typeof value !== "object" || value === null
const isText = (value: Json | undefined) => typeof value === "string"
const isOrdered = (value: Json | undefined) => isText(value) || typeof value === "number"

const anyValue = (value: Json | undefined) => (value === undefined ? "expected a value" : undefined)
const noValue = (value: Json | undefined) => (value === undefined ? undefined : "expected no value")
const textValue = (value: Json | undefined) => (isText(value) ? undefined : "expected a string")
const orderedValue = (value: Json | undefined) =>
  isOrdered(value) ? undefined : "expected a number or a string"
const scalars = (value: Json | undefined) =>
  Array.isArray(value) && (value as ReadonlyArray<Json>).every(isScalar)
    ? undefined
    : "expected an array of strings, numbers, booleans or nulls"

/** Compares two numbers, or two texts by code unit. False for everything else. */
const ordered =
  (holds: (left: number | string, right: number | string) => boolean) =>
  (expected: Json): Predicate =>
  (actual) =>
    typeof actual === typeof expected &&
    isOrdered(actual) &&
    holds(actual, expected as number | string)

const textual =
  (holds: (actual: string, expected: string) => boolean) =>
  (expected: Json): Predicate =>
  (actual) =>
    typeof actual === "string" && holds(actual, expected as string)

const contains =
  (expected: Json): Predicate =>
  (actual, work) =>
    Array.isArray(actual)
      ? (actual as ReadonlyArray<Json>).some((each) => isSame(each, expected, work))
      : typeof actual === "string" && typeof expected === "string" && actual.includes(expected)

const isIn = (expected: Json): Predicate => {
  const members = new Set(expected as ReadonlyArray<Json>)
  return (actual) => actual !== undefined && members.has(actual)
}

const isEmpty: Predicate = (actual, work) => {
  if (actual === undefined || actual === null || actual === "") return true
  if (typeof actual !== "object") return false
  const { length } = Object.keys(actual)
  work.spend(length / itemsPerOperation)
  return length === 0
}

const equals =
  (expected: Json): Predicate =>
  (actual, work) =>
    actual !== undefined && isSame(actual, expected, work)

const meanings = {
  equals: { problemOf: anyValue, compile: equals },
  notEquals: {
    problemOf: anyValue,
    compile: (expected) => (actual, work) => !equals(expected)(actual, work),
  },
  greaterThan: { problemOf: orderedValue, compile: ordered((left, right) => left > right) },
  greaterOrEqual: { problemOf: orderedValue, compile: ordered((left, right) => left >= right) },
  lessThan: { problemOf: orderedValue, compile: ordered((left, right) => left < right) },
  lessOrEqual: { problemOf: orderedValue, compile: ordered((left, right) => left <= right) },
  contains: { problemOf: anyValue, compile: contains },
  startsWith: {
    problemOf: textValue,
    compile: textual((actual, start) => actual.startsWith(start)),
  },
  endsWith: { problemOf: textValue, compile: textual((actual, end) => actual.endsWith(end)) },
  in: { problemOf: scalars, compile: isIn },
  exists: { problemOf: noValue, compile: () => (actual) => actual !== undefined },
  isEmpty: { problemOf: noValue, compile: () => isEmpty },
} satisfies { readonly [op: string]: Meaning }

/** The operator of a test. */
export type Operator = keyof typeof meanings

/** Every operator, in the order of the documentation. */
export const operators = Object.keys(meanings) as ReadonlyArray<Operator>

/** A condition on the value at `path`; without a path, on the whole value. */
export interface Test {
  readonly path?: string
  readonly op: Operator
  readonly value?: Json
}

/** True if each given part is true: all rules of `all`, one of `any`, and not `not`. */
export interface Combination {
  readonly all?: ReadonlyArray<Rule>
  readonly any?: ReadonlyArray<Rule>
  readonly not?: Rule
}

/** A condition over a JSON value. */
export type Rule = Test | Combination

/** True for the name of an operator. */
export const isOperator = (text: unknown): text is Operator =>
  typeof text === "string" && Object.hasOwn(meanings, text)

/** Why a test of this operator may not have this value; it is `undefined` if the test has none. */
export const problemOfTest = (op: Operator, value: Json | undefined): string | undefined =>
  meanings[op].problemOf(value)

/** A test of a compiled rule, and the next instruction if it is true or false. */
interface Instruction {
  readonly path: Path
  readonly predicate: Predicate
  readonly onTrue: number
  readonly onFalse: number
}

const holds = -1
const fails = -2

/** A rule as a list of instructions. Judging can pause before each. */
export interface CompiledRule {
  readonly start: number
  readonly instructions: ReadonlyArray<Instruction>
}

/**
 * Adds a rule's tests to the instructions, last test first. Returns the place of the first test.
 */
const place = (
  rule: Rule,
  onTrue: number,
  onFalse: number,
  instructions: Array<Instruction>,
): number => {
  if ("op" in rule) {
    const path = rule.path === undefined ? [] : (parsePath(rule.path) ?? [])
    const predicate = (meanings[rule.op] as Meaning).compile(rule.value ?? null)
    return instructions.push({ path, predicate, onTrue, onFalse }) - 1
  }
  let next = rule.not === undefined ? onTrue : place(rule.not, onFalse, onTrue, instructions)
  if (rule.any !== undefined) {
    const afterAny = next
    next = onFalse
    for (const each of rule.any.toReversed()) next = place(each, afterAny, next, instructions)
  }
  for (const each of (rule.all ?? []).toReversed()) {
    next = place(each, next, onFalse, instructions)
  }
  return next
}

/** Compiles a rule that has no problems. */
export const compileRule = (rule: Rule): CompiledRule => {
  const instructions: Array<Instruction> = []
  return { start: place(rule, holds, fails, instructions), instructions }
}

/** The work of judging a value, without comparing its inner values. */
const workOf = ({ path }: Instruction, actual: Json | undefined): number =>
  path.length + (typeof actual === "string" ? operationsOf(actual) : 1)

/** The items for which the rule is true. */
export function* holding(
  { instructions, start }: CompiledRule,
  items: ReadonlyArray<Json>,
  work: Work,
): Job<ReadonlyArray<Json>> {
  const kept: Array<Json> = []
  for (const item of items) {
    let at = start
    while (at >= 0) {
      const test = instructions[at]!
      const actual = valueAt(item, test.path)
      if (work.spend(workOf(test, actual))) yield
      at = test.predicate(actual, work) ? test.onTrue : test.onFalse
    }
    if (at === holds) kept.push(item)
  }
  return kept
}

/** True if the rule is true for the value. */
export function* isHeldBy(rule: CompiledRule, value: Json, work: Work): Job<boolean> {
  const kept = yield* holding(rule, [value], work)
  return kept.length > 0
}

/** True if a rule without problems, as it is stored, is true for the value. Counts no work. */
export const passes = (rule: JsonObject, value: Json): boolean => {
  const job = isHeldBy(compileRule(rule), value, new Work(Infinity))
  for (;;) {
    const step = job.next()
    if (step.done === true) return step.value
  }
}
