/**
 * The catalogue of node types. It changes only if the types are replaced.
 */
import type { NodeType as WireNodeType } from "@millrace/api/NodeTypeWire"
import type { NodeType } from "@millrace/core/domain/NodeType"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Effect } from "effect"
import type { OperationsOf } from "./Operation.ts"

/** A type, with the ports of a node that has no settings. */
const describe = (type: NodeType): WireNodeType => {
  const settings = settingsOf({ id: type.key, type: type.key, position: { x: 0, y: 0 } })
  const ports = type.portsOf(settings)
  const { category, description, key, modes, name, origin = "application", version } = type
  return {
    key,
    version,
    name,
    description,
    category,
    origin,
    modes,
    inputPorts: [...ports.inputs.values()],
    outputPorts: [...ports.outputs.values()],
    creditEstimate: type.estimate(settings),
  }
}

/** The operations of the group `nodeTypes`. */
export const make = Effect.map(NodeTypes, ({ all }) => {
  let types = all()
  let items = types.map(describe)
  const list = Effect.sync(() => {
    if (types !== all()) {
      types = all()
      items = types.map(describe)
    }
    return { value: { items } }
  })
  return { list: () => list } satisfies OperationsOf<"nodeTypes">
})
