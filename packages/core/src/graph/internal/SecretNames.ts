/**
 * Secrets in literals: a plain `{{ secrets.name }}`, whole or inside a text, in inputs that take
 * secrets, and nowhere else.
 *
 * Guarantees: only texts of the drawing are read, so nothing that flows through a run can name a
 * secret. Leaves out: which secrets an account has, and their values.
 */
import { secretNameLength } from "../../domain/Limits.ts"
import type { Ports } from "../../domain/NodeType.ts"
import { bracketed, listed, quoted } from "../../domain/Quote.ts"
import type { Node } from "../../domain/Workflow.ts"
import { settingsOf } from "../../domain/Workflow.ts"
import type { Literal, PlacedExpression } from "./Literal.ts"
import { readLiteral } from "./Literal.ts"
import type { NodePlan } from "./NodePlan.ts"
import { type Problem, problemOfNode } from "./Problem.ts"

const form = new RegExp(`^secrets\\.([A-Za-z_][A-Za-z0-9_]{0,${secretNameLength - 1}})$`)

/** The name of the secret that an expression stands for; `undefined` if it stands for none. */
export const secretOf = ({ text }: Pick<PlacedExpression, "text">): string | undefined =>
  form.exec(text)?.[1]

/** Why an expression may not use secrets there; `undefined` if it may. */
export const problemOfSecret = (
  expression: Pick<PlacedExpression, "text">,
  { inputs }: Ports,
  port: string,
  what: string,
): string | undefined => {
  if (secretOf(expression) === undefined) {
    return "a secret stands alone: write {{ secrets.name }}, without anything else in the braces"
  }
  if (what === "input" && inputs.get(port)?.takesSecrets === true) return undefined
  const others = Array.from(inputs.values()).filter(({ takesSecrets }) => takesSecrets === true)
  if (others.length === 0) return "secrets cannot be used here; this node takes none"
  const names = listed(others.map(({ name }) => name))
  return `secrets cannot be used here; this node takes them in ${names}`
}

/** A place of a graph that names a secret. */
export interface SecretReference {
  readonly name: string
  readonly nodeId: string
  readonly port: string
  readonly expression: PlacedExpression
}

/** The secrets that a node names; those of a node that does not execute do not count. */
export const secretsOf = ({
  isUnused,
  literals,
  node,
  settings,
}: NodePlan): ReadonlyArray<SecretReference> =>
  isUnused || settings.disabled
    ? []
    : Array.from(literals?.inputs ?? []).flatMap(([port, { expressions }]) =>
        expressions.flatMap((expression) => {
          const name = secretOf(expression)
          return name === undefined ? [] : [{ name, nodeId: node.id, port, expression }]
        }),
      )

/** The problem of a place that names a secret which the account does not have. */
export const problemOfMissing = (
  { expression, name, nodeId, port }: SecretReference,
  near: string | undefined,
): Problem => {
  const { column, place } = expression
  const where = `input ${quoted(port)}${bracketed(place)}, column ${column}`
  const hint = near === undefined ? "" : `; did you mean ${quoted(near)}?`
  const reason = `${where}: the account has no secret ${quoted(name)}${hint}`
  return problemOfNode(nodeId, reason, { port, column })
}

const namesIn = (node: Node): ReadonlySet<string> => {
  const literals = Object.values(settingsOf(node).inputs)
  const found = literals.map(readLiteral).filter((each): each is Literal => each !== undefined)
  const names = found.flatMap(({ expressions }) => expressions.map(secretOf))
  return new Set(names.filter((name) => name !== undefined))
}

/** The problems of nodes that a start replaces by nodes with other secrets than they had. */
export const problemsOfOverrides = (
  stored: ReadonlyArray<Node>,
  overrides: ReadonlyArray<Node>,
): ReadonlyArray<Problem> => {
  if (overrides.length === 0) return []
  const byId = new Map(stored.map((node) => [node.id, node]))
  return overrides.flatMap((node) => {
    const before = byId.get(node.id)
    const own = before === undefined ? new Set<string>() : namesIn(before)
    return [...namesIn(node)].flatMap((name) => {
      if (own.has(name)) return []
      const reason = `the override names the secret ${quoted(name)}, and the stored node does not`
      return [problemOfNode(node.id, reason)]
    })
  })
}
