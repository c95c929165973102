/**
 * What flows between the nodes of a simulation besides the values of edges: expressions, a secret,
 * and values so large that they are stored beside their run.
 *
 * Guarantees: deterministic, without threads. What an expression gives is worked out twice, from
 * its scope by the evaluator and from the record by {@link valueOfText}, which share nothing.
 * Leaves out: problems of expressions, which a start refuses.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { LargeValue } from "@millrace/core/domain/LargeValue"
import { namedBy, withLarge } from "@millrace/core/domain/LargeValue"
import type { NodeRun, RunRecord } from "@millrace/core/domain/Run"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import { settingsOf } from "@millrace/core/domain/Workflow"
import type { SecretSource } from "@millrace/core/engine/CurrentSecrets"
import type { Evaluator } from "@millrace/core/ports/Evaluator"
import type { ValueStore } from "@millrace/core/ports/ValueStore"
import { Effect, Option, Redacted, Stream } from "effect"
import type { Dice } from "./ModelDice.ts"

/** Values above this are large where a story has them. */
export const largeBytes = 96

/** Makes an output large. */
export const padding = "~".repeat(largeBytes)

/** The secret of every account. No record has it. */
export const secretValue = "s1m-T0ken/of+all"

const secretText = "{{ secrets.token }}"

/** What records have in the place of the secret. */
const mask = "•••"

/** The secrets of a simulation. */
export const secrets: SecretSource = {
  names: () => Effect.succeed(["token"]),
  open: () =>
    Effect.succeed([
      { name: "token", hosts: ["api.example.com"], value: Redacted.make(secretValue) },
    ]),
}

const path = /^\{\{ (\w+)\?\.output \}\}$/
const script = /^\[(\w+)\?\.output \?\? "none", values\.run\]$/
const onlyScript = /^\{\{ (\[.*\]) \}\}$/

interface ScriptScope {
  readonly nodes?: Readonly<Record<string, JsonObject>>
  readonly values?: JsonObject
}

/** Computes the one form of JavaScript that is drawn. */
export const evaluator: Evaluator = {
  absent: undefined,
  check: (_, all) => Effect.succeed(all.map(() => undefined)),
  execute: () => Effect.die(new Error("nothing draws code")),
  evaluate: ({ scripts }) =>
    Effect.succeed(
      scripts.map(({ scope, text }) => {
        const [, id = ""] = script.exec(text) ?? []
        const { nodes = {}, values = {} } = JSON.parse(scope) as ScriptScope
        const value = [nodes[id]?.["output"] ?? "none", values["run"]]
        return { _tag: "Value", json: JSON.stringify(value) } as const
      }),
    ),
}

const outputOf = (rows: ReadonlyMap<string, NodeRun>, id: string): Json | undefined => {
  const { output } = rows.get(id) ?? { output: null }
  return output !== null && Object.keys(output).includes("output") ? output["output"] : undefined
}

/** The node whose output a literal reads, if it reads one. */
export const readBy = (literal: Json): string | undefined => {
  if (typeof literal !== "string" || !literal.startsWith("{{ ")) return undefined
  const [, id] = path.exec(literal) ?? []
  const [, code = ""] = onlyScript.exec(literal) ?? []
  return id ?? script.exec(code)?.[1]
}

/** What a literal gives, by the record; `undefined` for nothing. */
export const valueOfText = (
  literal: Json,
  rows: ReadonlyMap<string, NodeRun>,
  values: JsonObject,
): Json | undefined => {
  const id = readBy(literal)
  if (id === undefined) return literal
  const output = outputOf(rows, id)
  return path.test(literal as string) ? output : [output ?? "none", values["run"]!]
}

/** Nodes from which edges lead to this one. */
const before = (id: string, edges: ReadonlyArray<Edge>): ReadonlyArray<string> => {
  const found = new Set<string>([id])
  for (const each of found) {
    for (const { source, target } of edges) if (target === each) found.add(source)
  }
  found.delete(id)
  return [...found]
}

const literalFor = (id: string, dice: Dice): string =>
  dice.chance(50) ? `{{ ${id}?.output }}` : `{{ [${id}?.output ?? "none", values.run] }}`

/** The node with an expression in its input `other`, or with a secret, where that is possible. */
export const flowing = (node: Node, edges: ReadonlyArray<Edge>, dice: Dice): Node => {
  const { disabled, inputs } = settingsOf(node)
  const sources = before(node.id, edges).filter((id) => id.startsWith("n"))
  const text =
    sources.length > 0 && dice.chance(60) ? literalFor(dice.of(sources), dice) : undefined
  const literals: Record<string, Json> = { ...inputs }
  const hasOther = ["step", "need", "pure"].includes(node.type)
  if (disabled || !(hasOther || node.type === "use")) return node
  if (hasOther && text !== undefined) literals["other"] = text
  if (node.type === "use") literals["token"] = `Bearer ${secretText}`
  return { ...node, data: { ...(node.data as JsonObject), inputs: literals } }
}

/** True for a node with expressions. */
export const hasFlow = ({ data }: Node): boolean => JSON.stringify(data).includes("{{ ")

/** What a call says that was given the secret: it repeats it. */
export const spoken = (text: string, { token }: JsonObject): string =>
  typeof token === "string" ? `${text} ${token}` : text

/** What is recorded of what a call says. */
export const recorded = (text: string, { token }: JsonObject): string =>
  typeof token === "string" ? `${text} Bearer ${mask}` : text

/** The texts of an output, each as it is said. */
export const mapTexts = (output: JsonObject, change: (text: string) => string): JsonObject =>
  Object.fromEntries(
    Object.entries(output).map(([port, value]) => [
      port,
      typeof value === "string" ? change(value) : value,
    ]),
  )

/** Inputs without what no record has. */
export const withoutToken = ({ token: _, ...rest }: JsonObject): JsonObject => rest

const decoder = new TextDecoder()

/** The record with its large values in their places; `undefined` for one that is gone. */
export const hydrated = (
  record: RunRecord,
  store: ValueStore["Service"],
): { readonly record: RunRecord; readonly gone: ReadonlyArray<string> } => {
  if (namedBy(record).length === 0) return { record, gone: [] }
  const { nodeRuns, run } = record
  const gone: Array<string> = []
  const key = { account: run.accountId, runId: run.id }
  const valueOf = ({ id }: LargeValue): Json => {
    const found = Effect.runSync(store.read({ ...key, id }))
    if (Option.isNone(found)) {
      gone.push(id)
      return null
    }
    const pieces = Effect.runSync(Stream.runCollect(found.value))
    return JSON.parse(Array.from(pieces, (piece) => decoder.decode(piece)).join("")) as Json
  }
  const whole = {
    ...record,
    run: { ...run, output: withLarge(run.output, "/output", run.largeValues, valueOf) },
    nodeRuns: nodeRuns.map((row) =>
      row.largeValues === null
        ? row
        : {
            ...row,
            input: withLarge(row.input, "/input", row.largeValues, valueOf),
            output: withLarge(row.output, "/output", row.largeValues, valueOf),
          },
    ),
  }
  return { record: whole, gone }
}
