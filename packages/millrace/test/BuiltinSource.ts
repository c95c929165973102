/**
 * Writes the types of the built-in nodes, which the builder of workflows knows, from the catalogue:
 * `node --conditions=@millrace/source packages/millrace/test/BuiltinSource.ts`, then `oxfmt`.
 *
 * Guarantees: a port has the type that its JSON Schema has, where it has one. Leaves out: what a
 * schema says beyond types, such as lengths.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import type { InputPort, NodeType, OutputPort } from "@millrace/core/domain/NodeType"
import { builtin } from "@millrace/nodes/Builtin"

const folder = join(import.meta.dirname, "../src/internal")

/** Ports whose check knows more than their schema: the type that their handler has. */
const exact: { readonly [port: string]: string } = {
  "condition.rule": "Rule",
  "while.until": "Rule",
  "switch.cases": "ReadonlyArray<Case>",
  "list.steps": "ReadonlyArray<Step>",
}

const literals = (values: ReadonlyArray<Json>): string =>
  values.length === 0 ? "never" : values.map((each) => JSON.stringify(each)).join(" | ")

const keyOf = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name))

const objectOf = (schema: JsonObject): string => {
  const { additionalProperties: rest, properties, required = [] } = schema
  if (!isJsonObject(properties)) {
    return `{ readonly [key: string]: ${isJsonObject(rest) ? typeOf(rest) : "unknown"} }`
  }
  const isRequired = (name: string) => (required as ReadonlyArray<Json>).includes(name)
  const fields = Object.entries(properties).map(
    ([name, each]) =>
      `readonly ${keyOf(name)}${isRequired(name) ? "" : "?"}: ${typeOf(each as JsonObject)}`,
  )
  return `{ ${fields.join("; ")} }`
}

/** The type of what a JSON Schema accepts; `unknown` where it says none. */
const typeOf = (schema: JsonObject): string => {
  if (schema["const"] !== undefined) return literals([schema["const"]])
  if (Array.isArray(schema["enum"])) return literals(schema["enum"] as ReadonlyArray<Json>)
  const union = schema["anyOf"] ?? schema["oneOf"]
  if (Array.isArray(union)) {
    const types = (union as ReadonlyArray<JsonObject>).map(typeOf)
    return types.includes("unknown") ? "unknown" : [...new Set(types)].join(" | ")
  }
  switch (schema["type"]) {
    case "string":
    case "boolean":
    case "null":
    case "number":
      return schema["type"]
    case "integer":
      return "number"
    case "array":
      return `ReadonlyArray<${isJsonObject(schema["items"]) ? typeOf(schema["items"]) : "unknown"}>`
    case "object":
      return objectOf(schema)
    default:
      return "unknown"
  }
}

const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines = [""]
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!
    if (line !== "" && line.length + word.length >= width) lines.push(word)
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`
  }
  return lines
}

const aboutOf = ({ schema }: InputPort | OutputPort): string => {
  const { default: fallback, description = "" } = schema
  const note = fallback === undefined ? "" : ` By default ${JSON.stringify(fallback)}.`
  return `${description as string}${note}`
}

const commentOf = (text: string, indent: string): string => {
  const width = 100 - indent.length
  if (text.length + 7 <= width) return `${indent}/** ${text} */\n`
  const lines = wrapped(text, width - 4).map((line) => `${indent} * ${line}\n`)
  return `${indent}/**\n${lines.join("")}${indent} */\n`
}

const sideOf = (type: string, ports: Iterable<InputPort | OutputPort>): string => {
  const indent = "      "
  const fields = Array.from(
    ports,
    (port) =>
      `${commentOf(aboutOf(port), indent)}${indent}readonly ${keyOf(port.name)}: ` +
      `${exact[`${type}.${port.name}`] ?? typeOf(port.schema)}\n`,
  )
  return fields.length === 0 ? "{}" : `{\n${fields.join("")}    }`
}

const nodeOf = (type: NodeType): string => {
  const { inputs, outputs } = type.portsOf({
    inputs: {},
    mode: undefined,
    version: undefined,
    label: undefined,
    disabled: false,
  })
  const names = (of: (port: InputPort) => boolean | undefined) =>
    literals([...inputs.values()].filter(of).map(({ name }) => name))
  const rest = {
    modes: literals(type.modes),
    raw: names(({ isRaw }) => isRaw),
    multiple: names(({ multiple }) => multiple),
  }
  const isPlain = Object.values(rest).every((each) => each === "never")
  const more = Object.entries(isPlain ? {} : rest).map(
    ([name, each]) => `    readonly ${name}: ${each}\n`,
  )
  return (
    `${commentOf(type.description, "  ")}  readonly ${type.key}: ${isPlain ? "Plain & " : ""}{\n` +
    `    readonly inputs: ${sideOf(type.key, inputs.values())}\n` +
    `    readonly outputs: ${sideOf(type.key, outputs.values())}\n` +
    `${bodyOf(type)}${more.join("")}  }\n`
  )
}

/** What the nodes in the body of a loop see of it. */
const bodyOf = ({ body, key }: NodeType): string =>
  body === undefined ? "" : `    readonly body: ${sideOf(key, body.values())}\n`

const networkFile = "BuiltinNetworkNode.ts"

const leavesOut = `Leaves out: outputs that a node's literals declare, which the builder reads off
 * the call.`

const isNetwork = ({ type }: { readonly type: NodeType }) => type.category === "network"

const nodesOf = (isWanted: (each: { readonly type: NodeType }) => boolean): string =>
  builtin
    .filter((each) => isWanted(each))
    .map(({ type }) => nodeOf(type))
    .join("")

const networkSource = (): string => `/**
 * The types of the built-in nodes that call others: a part of \`BuiltinNode.ts\`, written with it.
 *
 * ${leavesOut}
 */

/** A node without modes, whose inputs take one edge each and may have expressions. */
export interface Plain {
  readonly modes: never
  readonly raw: never
  readonly multiple: never
}

/** The built-in nodes that call others, by type. */
export interface BuiltinNetworkNodes {
${nodesOf(isNetwork)}}
`

const restSource = (): string => `/**
 * The types of the built-in nodes: inputs, outputs and modes of each. Written by
 * \`test/BuiltinSource.ts\` from the catalogue, and compared with it by a test.
 *
 * ${leavesOut}
 */
import type { Rule } from "@millrace/core/domain/Rule"
import type { Step } from "@millrace/nodes/Steps"
import type { BuiltinNetworkNodes, Plain } from ${JSON.stringify(`./${networkFile}`)}

/** A case of a switch node: the name of an output, and when it is taken. */
interface Case {
  readonly name: string
  readonly rule: Rule
}

/** The built-in nodes, by type. */
export interface BuiltinNodes extends BuiltinNetworkNodes {
${nodesOf((each) => !isNetwork(each))}}
`

/** The sources of the types, not formatted, by the files in which they are. */
export const written = (): ReadonlyMap<string, string> =>
  new Map([
    [join(folder, "BuiltinNode.ts"), restSource()],
    [join(folder, networkFile), networkSource()],
  ])

if (import.meta.main) for (const [file, text] of written()) writeFileSync(file, text)
