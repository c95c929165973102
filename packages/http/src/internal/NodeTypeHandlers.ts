/**
 * The catalogue of node types. It cannot change while a process lives, so it is written once.
 */
import { Api } from "@millrace/api/Api"
import type { NodeType as WireNodeType } from "@millrace/api/NodeTypeWire"
import type { NodeType } from "@millrace/core/domain/NodeType"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

/** A type as a node of it looks before anybody has set anything. */
const describe = (type: NodeType): WireNodeType => {
  const settings = settingsOf({ id: type.key, type: type.key, position: { x: 0, y: 0 } })
  const ports = type.portsOf(settings)
  const { category, description, key, modes, name, version } = type
  return {
    key,
    version,
    name,
    description,
    category,
    modes,
    inputPorts: [...ports.inputs.values()],
    outputPorts: [...ports.outputs.values()],
    creditEstimate: type.estimate(settings),
  }
}

/** The handlers of the group `nodeTypes`. */
export const layer = HttpApiBuilder.group(
  Api,
  "nodeTypes",
  Effect.fnUntraced(function* (handlers) {
    const { all } = yield* NodeTypes
    const items = all.map(describe)
    return handlers.handle("list", () => Effect.succeed({ items }))
  }),
)
