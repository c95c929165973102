/**
 * Ports that take rules: which values are rules, as users write them.
 *
 * Guarantees: a rule that passes {@link problemsOfRule} can be compiled. Leaves out: what a rule
 * means; see `Rule` of the core.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import { conditionsPerRule } from "@millrace/core/domain/Limits"
import { parsePath } from "@millrace/core/domain/Path"
import type { Rule } from "@millrace/core/domain/Rule"
import { isOperator, operators, problemOfTest } from "@millrace/core/domain/Rule"
import type { Issue } from "./internal/Checked.ts"
import { below, checked, issue, oneOf, unknownKeys } from "./internal/Checked.ts"

const problemsOfTest = (test: JsonObject): ReadonlyArray<Issue> => {
  const { op, path, value } = test
  const issues = [...unknownKeys(test, ["path", "op", "value"])]
  if (path !== undefined && (typeof path !== "string" || parsePath(path) === undefined)) {
    issues.push({ path: ["path"], issue: "expected a path like user.name or items[0].id" })
  }
  if (!isOperator(op)) {
    return [...issues, { path: ["op"], issue: `expected one of ${operators.join(", ")}` }]
  }
  const problem = problemOfTest(op, value)
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
