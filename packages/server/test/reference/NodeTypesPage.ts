/**
 * The page of the built-in node types: ports, modes, effects and an example of each.
 */
import type { NodeType, OutputPort } from "@millrace/core/domain/NodeType"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { builtin } from "@millrace/nodes/Builtin"
import { pageOf, table } from "./Table.ts"

const effects = {
  none: "It only computes.",
  reads: "It looks at something outside.",
  writes: "It changes something outside.",
} as const

const typeIn = (schema: unknown): string => {
  const {
    anyOf,
    enum: values,
    type,
  } = schema as {
    readonly anyOf?: ReadonlyArray<unknown>
    readonly enum?: ReadonlyArray<unknown>
    readonly type?: string
  }
  if (values !== undefined) return values.map((value) => `\`${JSON.stringify(value)}\``).join(", ")
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeIn))].join(", ")
  return type ?? "any"
}

interface Port {
  readonly name: string
  readonly schema: object
}

const descriptionOf = ({ schema }: Port): string =>
  "description" in schema ? String(schema.description) : ""

const json = (value: object): string => JSON.stringify(value, null, 2)

const exampleOf = ({ example, key }: NodeType): ReadonlyArray<string> => {
  if (example === undefined) throw new Error(`NodeTypesPage: ${key} has no example`)
  const { inputs, mode, outputs } = example
  const node = { id: key, type: key, data: { ...(mode === undefined ? {} : { mode }), inputs } }
  return [
    `\`\`\`json\n${json(node)}\n\`\`\``,
    ...(Object.keys(outputs).length === 0
      ? []
      : ["puts out", `\`\`\`json\n${json(outputs)}\n\`\`\``]),
  ]
}

const sectionOf = (type: NodeType): ReadonlyArray<string> => {
  const settings = settingsOf({ id: type.key, type: type.key, position: { x: 0, y: 0 } })
  const ports = type.portsOf(settings)
  const inputs = [...ports.inputs.values()].map((port) => [
    `\`${port.name}\`${port.required ? "*" : ""}`,
    `${typeIn(port.schema)}${port.multiple ? " (many edges)" : ""}`,
    `${descriptionOf(port)}${port.takesSecrets === true ? " May name secrets." : ""}`,
  ])
  const rowOf = (port: OutputPort) => [`\`${port.name}\``, typeIn(port.schema), descriptionOf(port)]
  const outputs = [...ports.outputs.values()].map(rowOf)
  const body = [...(type.body?.values() ?? [])].map(rowOf)
  const modes = type.modes.map((mode) => `\`${mode}\``).join(", ")
  return [
    `## ${type.key}`,
    [
      type.description,
      effects[type.effects],
      ...(modes === "" ? [] : [`Modes, the default first: ${modes}.`]),
    ].join(" "),
    ...(inputs.length === 0 ? [] : [table(["Input", "Type", "What it is"], inputs)]),
    ...(outputs.length === 0 ? [] : [table(["Output", "Type", "What it is"], outputs)]),
    ...(body.length === 0 ? [] : [table(["In its body", "Type", "What it is"], body)]),
    ...exampleOf(type),
  ]
}

/** The page. */
export const nodeTypesPage = () =>
  pageOf(
    "node-types",
    "Built-in node types",
    "\\* required. An input comes from an edge, from a literal in `data.inputs`, or from an " +
      "override. " +
      "Ports are those of a node in its default mode without literals; `request` and " +
      "`switch` have an " +
      "output for each field and case. [The page of the package](../../packages/nodes/README.md) " +
      "explains rules, templates, code, calls and databases.",
    ...builtin.flatMap(({ type }) => sectionOf(type)),
  )
