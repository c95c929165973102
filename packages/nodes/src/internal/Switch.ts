/**
 * The switch node: passes its input on at the port of the first case that matches.
 *
 * Guarantees: exactly one port is taken; `default` when no case matches. Leaves out: several
 * matches at once.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { isJsonObject, Json } from "@millrace/core/domain/Json"
import { casesPerSwitch } from "@millrace/core/domain/Limits"
import { errorOutput } from "@millrace/core/domain/NodeType"
import { quoted } from "@millrace/core/domain/Quote"
import { define } from "@millrace/core/engine/NodeDefinition"
import { hasIdShape, isReserved } from "@millrace/core/graph/GraphId"
import { Schema } from "effect"
import type { Issue } from "./Checked.ts"
import { below, checked, issue, unknownKeys } from "./Checked.ts"
import type { Rule } from "@millrace/core/domain/Rule"
import { compileRule, isHeldBy } from "@millrace/core/domain/Rule"
import type { Job } from "@millrace/core/domain/Work"
import { problemsOfRule, ruleJsonSchema } from "../Rules.ts"
import { carriedOut } from "./ComputePermit.ts"

/** A case of a switch node. */
export interface Case {
  /** The output port, in the form of a node's id. */
  readonly name: string
  readonly rule: Rule
}

/** The output that is taken if no case matches. */
export const otherwise = "default"

const problemOfName = (name: unknown): string | undefined => {
  if (typeof name !== "string" || !hasIdShape(name)) {
    return "expected 1 to 128 letters, digits or characters of _ . : -"
  }
  return isReserved(name) || name === errorOutput || name === otherwise
    ? `${quoted(name)} is reserved`
    : undefined
}

const problemsOfCase = (value: unknown): ReadonlyArray<Issue> => {
  if (!isJsonObject(value)) return issue("expected an object with name and rule")
  const problem = problemOfName(value["name"])
  return [
    ...unknownKeys(value, ["name", "rule"]),
    ...(problem === undefined ? [] : below(issue(problem), "name")),
    ...below(problemsOfRule(value["rule"]), "rule"),
  ]
}

const namesOf = (cases: unknown): ReadonlyArray<string> =>
  Array.isArray(cases)
    ? (cases as ReadonlyArray<unknown>).slice(0, casesPerSwitch).flatMap((each) => {
        const name = isJsonObject(each) ? each["name"] : undefined
        return typeof name === "string" ? [name] : []
      })
    : []

/** The problems of the cases of a switch node. */
export const problemsOfCases = (cases: unknown): ReadonlyArray<Issue> => {
  if (!Array.isArray(cases)) return issue("expected an array of cases")
  if (cases.length > casesPerSwitch) return issue(`expected at most ${casesPerSwitch} cases`)
  const names = namesOf(cases)
  const twice = new Set(names.filter((name, at) => names.indexOf(name) !== at))
  return [
    ...cases.flatMap((each, at) => below(problemsOfCase(each), at)),
    ...Array.from(twice, (name) => issue(`two cases have the name ${quoted(name)}`)).flat(),
  ]
}

const CasesInput = checked<ReadonlyArray<Case>>(problemsOfCases, {
  description: "The ways out in the order they are tried; the first whose rule holds is taken.",
  jsonSchema: {
    type: "array",
    maxItems: casesPerSwitch,
    items: {
      type: "object",
      required: ["name", "rule"],
      properties: { name: { type: "string" }, rule: ruleJsonSchema },
      additionalProperties: false,
    },
  },
})

type Ways = { readonly [name: string]: JsonValue }

/** `switch`: passes the input on at the port of the first case that matches, else at `default`. */
export const switchNode = define({
  key: "switch",
  effects: "none",
  name: "Switch",
  description: "Lets its input out on the port of the first case whose rule holds.",
  category: "flow",
  icon: "split",
  inputs: {
    input: Schema.optionalKey(Json.annotate({ description: "What is judged and passed on." })),
    cases: CasesInput,
  },
  outputs: {
    default: Schema.optionalKey(Json.annotate({ description: "The input, when no case matches." })),
  },
  ports: ({ inputs }) => ({
    outputs: namesOf(inputs["cases"]).filter((name) => problemOfName(name) === undefined),
  }),
  example: {
    inputs: {
      input: { city: "Bern" },
      cases: [{ name: "capital", rule: { path: "city", op: "equals", value: "Bern" } }],
    },
    outputs: { capital: { city: "Bern" } },
  },
  run: ({ cases, input = null }) =>
    carriedOut(function* (work): Job<Ways> {
      for (const { name, rule } of cases) {
        if (yield* isHeldBy(compileRule(rule), input, work)) return { [name]: input }
      }
      return { [otherwise]: input }
    }),
})
