/**
 * The names in the JavaScript of raw inputs: those of `next`, and secrets in a body of code.
 *
 * Guarantees: a script that passes names no secret. Leaves out: the other names in a body, which
 * may be declared in ways that tokens do not show; and whether a script is well formed, which the
 * evaluator knows.
 */
import type { LiteralScript } from "../../domain/NodeType.ts"
import { suggestion } from "../../domain/Nearest.ts"
import { listed, quoted } from "../../domain/Quote.ts"
import type { Reference } from "./Names.ts"
import { globalNames, referencesIn } from "./Names.ts"
import type { NodePlan } from "./NodePlan.ts"
import { scriptsOf } from "./NodePlan.ts"
import { type Problem, problemOfNode } from "./Problem.ts"
import { lex } from "./Tokens.ts"

/** JavaScript of a node, and where it stands. */
export interface PlacedText {
  readonly nodeId: string
  readonly port: string
  /** What a sentence calls the text. */
  readonly where: string
  readonly text: string
  /** True for the body of a function, whose lines are counted. */
  readonly isBody: boolean
  /** Where in its literal it begins, in characters from 1. */
  readonly column: number
}

/** The problem of a place in JavaScript, in characters of its text from 0. */
export const problemInText = (
  { column, isBody, nodeId, port, text, where }: PlacedText,
  at: number,
  reason: string,
): Problem => {
  const before = isBody ? text.slice(0, at).split("\n") : []
  const line = before.length
  const place = line === 0 ? { column: column + at } : { line, column: before.at(-1)!.length + 1 }
  const inLine = line === 0 ? "" : `line ${line}, `
  const message = `${where}, ${inLine}column ${place.column}: ${reason}`
  return problemOfNode(nodeId, message, { port, ...place })
}

const noSecrets =
  "secrets cannot be used in JavaScript; name them in inputs that take secrets, such as the " +
  "headers of a call"

const reasonAgainst = (
  { isOwn, name }: Reference,
  { isBody, names }: LiteralScript,
): string | undefined => {
  if (isOwn || names.includes(name)) return undefined
  if (name === "secrets") return noSecrets
  if (isBody || globalNames.has(name)) return undefined
  const near = suggestion(name, [...names, ...globalNames])
  const hint = near === undefined ? `there are ${listed(names)}` : `did you mean ${quoted(near)}?`
  return `unknown name ${quoted(name)}; ${hint}`
}

/** What is wrong with the names in the JavaScript of a node's raw inputs. */
export const problemsOfScripts = (plan: NodePlan): ReadonlyArray<Problem> =>
  scriptsOf(plan).flatMap(([port, script]) => {
    if (script.isBody && !script.text.includes("secrets")) return []
    const { fault, tokens } = lex(script.text, 0)
    // The evaluator says what is malformed, and names mean little there.
    if (fault !== undefined) return []
    const nodeId = plan.node.id
    const placed = { ...script, nodeId, port, where: `input ${quoted(port)}` }
    return referencesIn(tokens).flatMap((reference) => {
      const reason = reasonAgainst(reference, script)
      if (reason === undefined) return []
      return [problemInText({ ...placed, column: script.at + 1 }, reference.at, reason)]
    })
  })
