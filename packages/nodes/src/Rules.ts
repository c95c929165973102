/**
 * Rules: conditions over a JSON value, as data. A test compares the value at a path with another
 * value; `all`, `any` and `not` combine rules.
 *
 * Guarantees: a rule that passes {@link problemsOfRule} can be compiled. Judging a value takes time
 * linear in rule and value, in slices (see `Work.ts`); there are no patterns and no code. If there
 * is no value at the path, a test is false, except `notEquals` and `isEmpty`. Leaves out: comparing
 * with other values of the run.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import { conditionsPerRule } from "@millrace/core/domain/Limits"
import type { Issue } from "./internal/Checked.ts"
import { below, checked, issue, oneOf, unknownKeys } from "./internal/Checked.ts"
import { isSame } from "./internal/Equality.ts"
import type { Path } from "./Path.ts"
import { parsePath, valueAt } from "./Path.ts"
import type { Job, Work } from "./internal/Work.ts"
import { itemsPerOperation, operationsOf } from "./internal/Work.ts"

/** Judges the value at the path; `undefined` if there is none. */
type Verdict = (actual: Json | undefined, work: Work) => boolean

interface Meaning {
  /** Why a test may not have this value. The value is `undefined` if the test has none. */
  readonly problemOf: (value: Json | undefined) => string | undefined
  readonly compile: (value: Json) => Verdict
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
  (expected: Json): Verdict =>
  (actual) =>
    typeof actual === typeof expected &&
    isOrdered(actual) &&
    holds(actual, expected as number | string)

const textual =
  (holds: (actual: string, expected: string) => boolean) =>
  (expected: Json): Verdict =>
  (actual) =>
    typeof actual === "string" && holds(actual, expected as string)

const contains =
  (expected: Json): Verdict =>
  (actual, work) =>
    Array.isArray(actual)
      ? (actual as ReadonlyArray<Json>).some((each) => isSame(each, expected, work))
      : typeof actual === "string" && typeof expected === "string" && actual.includes(expected)

const isIn = (expected: Json): Verdict => {
  const members = new Set(expected as ReadonlyArray<Json>)
  return (actual) => actual !== undefined && members.has(actual)
}

const isEmpty: Verdict = (actual, work) => {
  if (actual === undefined || actual === null || actual === "") return true
  if (typeof actual !== "object") return false
  const { length } = Object.keys(actual)
  work.spend(length / itemsPerOperation)
  return length === 0
}

const equals =
  (expected: Json): Verdict =>
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

const isOperator = (text: unknown): text is Operator =>
  typeof text === "string" && Object.hasOwn(meanings, text)

const problemsOfTest = (test: JsonObject): ReadonlyArray<Issue> => {
  const { op, path, value } = test
  const issues = [...unknownKeys(test, ["path", "op", "value"])]
  if (path !== undefined && (typeof path !== "string" || parsePath(path) === undefined)) {
    issues.push({ path: ["path"], issue: "expected a path like user.name or items[0].id" })
  }
  if (!isOperator(op)) {
    return [...issues, { path: ["op"], issue: `expected one of ${operators.join(", ")}` }]
  }
  const meaning: Meaning = meanings[op]
  const problem = meaning.problemOf(value)
  return problem === undefined ? issues : [...issues, { path: ["value"], issue: problem }]
}

interface Pending {
  readonly rule: unknown
  readonly path: ReadonlyArray<string | number>
}

const parts = ["all", "any", "not"]

const arms = (rule: JsonObject, key: "all" | "any"): ReadonlyArray<Pending> =>
  Array.isArray(rule[key])
    ? (rule[key] as ReadonlyArray<Json>).map((each, at) => ({ rule: each, path: [key, at] }))
    : []

const problemsOfCombination = (rule: JsonObject): ReadonlyArray<Issue> => {
  const notArrays = ["all", "any"].filter(
    (key) => rule[key] !== undefined && !Array.isArray(rule[key]),
  )
  const named = parts.some((key) => rule[key] !== undefined)
  return [
    ...(named ? [] : issue(`expected ${oneOf([...parts, "op"])}`)),
    ...unknownKeys(rule, parts),
    ...notArrays.map((key) => ({ path: [key], issue: "expected an array of rules" })),
  ]
}

/** The problems of a rule itself, and its inner rules. */
const inspect = (rule: unknown): [ReadonlyArray<Issue>, ReadonlyArray<Pending>] => {
  if (!isJsonObject(rule)) return [issue(`expected an object with ${oneOf([...parts, "op"])}`), []]
  if (rule["op"] !== undefined) return [problemsOfTest(rule), []]
  const not = rule["not"] === undefined ? [] : [{ rule: rule["not"], path: ["not"] }]
  return [problemsOfCombination(rule), [...arms(rule, "all"), ...arms(rule, "any"), ...not]]
}

/** The problems of a value that should be a rule; none if it is one. */
export const problemsOfRule = (rule: unknown): ReadonlyArray<Issue> => {
  const pending: Array<Pending> = [{ rule, path: [] }]
  const issues: Array<Issue> = []
  for (const { path, rule: each } of pending) {
    const [own, inner] = inspect(each)
    issues.push(...below(own, ...path))
    if (pending.length + inner.length > conditionsPerRule) {
      return issue(`expected at most ${conditionsPerRule} conditions`)
    }
    for (const next of inner) pending.push({ rule: next.rule, path: [...path, ...next.path] })
  }
  return issues
}

/** A test of a compiled rule, and the next instruction if it is true or false. */
interface Instruction {
  readonly path: Path
  readonly verdict: Verdict
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
    const verdict = (meanings[rule.op] as Meaning).compile(rule.value ?? null)
    return instructions.push({ path, verdict, onTrue, onFalse }) - 1
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
      at = test.verdict(actual, work) ? test.onTrue : test.onFalse
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

const explanation =
  'A rule: { "path": "user.age", "op": "greaterThan", "value": 17 }, or rules combined by ' +
  '{ "all": [...] }, { "any": [...] } and { "not": {...} }. ' +
  "Without a path the whole value is meant."

const rules: JsonObject = { type: "array", items: { type: "object" } }

/** The part of a rule's form that JSON Schema can express. */
export const ruleJsonSchema: JsonObject = {
  type: "object",
  properties: {
    path: { type: "string" },
    op: { type: "string", enum: operators },
    value: {},
    all: rules,
    any: rules,
    not: { type: "object" },
  },
  additionalProperties: false,
}

/** The schema of a port that takes a rule. */
export const RuleInput = checked<Rule>(problemsOfRule, {
  description: explanation,
  jsonSchema: ruleJsonSchema,
})
