/**
 * What the author of a drawing may not have meant, and a start accepts all the same.
 *
 * Guarantees: pure, and a bounded number of guesses. Leaves out: what a start refuses.
 */
import { isJsonObject } from "../../domain/Json.ts"
import { dataKeysRead } from "../../domain/Limits.ts"
import { suggestion } from "../../domain/Nearest.ts"
import { quoted } from "../../domain/Quote.ts"
import { dataKeys } from "../../domain/Workflow.ts"
import type { Reading } from "../Graph.ts"
import { conflictsOf } from "./Conflicts.ts"
import { warningsOfEdges } from "./Mismatches.ts"
import type { NodePlan } from "./NodePlan.ts"
import { type Problem, problemOfNode } from "./Problem.ts"
import { unusedReason } from "./SkipReason.ts"

/** Nodes without edges that lack what they require. */
const unusedOf = (plans: ReadonlyArray<NodePlan>): ReadonlyArray<Problem> =>
  plans
    .filter(({ isUnused, type }) => isUnused && type.role !== "note")
    .map((plan) => ({ message: unusedReason(plan), nodeId: plan.node.id }))

const ignoredOf = ({ ignored }: Reading): ReadonlyArray<Problem> =>
  Array.from(ignored, ({ id }) => ({
    message: `Edge ${quoted(id)}: it joins a note, so it means nothing`,
    edgeId: id,
  }))

/** Expressions that are computed only where no edge carries a value, which few mean to draw. */
const coveredOf = ({ plans, wirings }: Reading): ReadonlyArray<Problem> =>
  plans.flatMap((plan, index) =>
    [...(plan?.literals?.inputs.keys() ?? [])]
      .filter((input) => wirings[index]!.inputs.has(input))
      .map((port) => {
        const reason =
          `input ${quoted(port)} takes what its edge carries, and ` +
          "its expression only where the edge carries nothing"
        return problemOfNode(plan!.node.id, reason, { port })
      }),
  )

/** Names that other systems have for keys of ours, spelled too differently to be guessed. */
const otherNames: Readonly<Record<string, string>> = {
  attempts: "retry",
  onFailure: "onError",
  retries: "retry",
  timeoutMillis: "timeout",
  timeoutSeconds: "timeout",
}

const meantBy = (key: string, { type }: NodePlan): string | undefined => {
  const known = dataKeys.filter((each) => each !== "mode" || type.modes.length > 0)
  return Object.hasOwn(otherNames, key) ? otherNames[key] : suggestion(key, known)
}

/** Keys of a node's data that are almost those which the engine reads; all others are free. */
const misspeltOf = (plans: ReadonlyArray<NodePlan>): ReadonlyArray<Problem> => {
  let left = dataKeysRead
  return plans.flatMap((plan) => {
    const { data } = plan.node
    if (!isJsonObject(data)) return []
    const foreign = Object.keys(data).filter((key) => !dataKeys.some((each) => each === key))
    const judged = foreign.slice(0, left)
    left -= judged.length
    return judged.flatMap((key) => {
      const meant = meantBy(key, plan)
      // Both may be meant: one for the engine, one for an editor.
      if (meant === undefined || Object.hasOwn(data, meant)) return []
      const reason = `${quoted(key)} in its data means nothing; did you mean ${quoted(meant)}?`
      return [problemOfNode(plan.node.id, reason)]
    })
  })
}

/** The warnings of a drawing, whether a start would accept it or not. */
export const warningsOf = (reading: Reading): ReadonlyArray<Problem> => {
  const plans = reading.plans.filter((plan) => plan !== undefined)
  return [
    ...unusedOf(plans),
    ...ignoredOf(reading),
    ...coveredOf(reading),
    ...conflictsOf(reading),
    ...warningsOfEdges(reading),
    ...misspeltOf(plans),
  ]
}
