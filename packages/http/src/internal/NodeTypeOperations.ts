/**
 * The catalogue of node types. It changes only if the types are replaced.
 */
import type { NodeType as WireNodeType } from "@millrace/api/NodeTypeWire"
import type { NodeType } from "@millrace/core/domain/NodeType"
import { estimateOf, versionsOf, withError } from "@millrace/core/domain/NodeType"
import type { Prices } from "@millrace/core/domain/Prices"
import { CurrentPrices, priceOf } from "@millrace/core/domain/Prices"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Effect } from "effect"
import type { OperationsOf } from "./Operation.ts"

/** A type as a node of it looks before anybody has set anything. */
const describe =
  (prices: Prices | undefined) =>
  (type: NodeType): WireNodeType => {
    const settings = settingsOf({ id: type.key, type: type.key, position: { x: 0, y: 0 } })
    const ports = withError(type.portsOf(settings), type)
    const estimateIn = (mode: string | undefined) => {
      const chosen = { ...settings, mode }
      return estimateOf(type, chosen, priceOf(prices, type, chosen)) ?? null
    }
    const { category, deprecated = null, description, docs = null, effects } = type
    const { example = null, icon = null, key } = type
    const { modes, name, origin = "application", version } = type
    return {
      key,
      version,
      deprecated,
      name,
      description,
      category,
      icon,
      docs,
      origin,
      modes,
      inputPorts: [...ports.inputs.values()],
      outputPorts: [...ports.outputs.values()],
      ...(type.body === undefined ? {} : { bodyPorts: [...type.body.values()] }),
      effects,
      example,
      creditEstimate: estimateIn(undefined),
      creditsByMode: Object.fromEntries(modes.map((mode) => [mode, estimateIn(mode)])),
    }
  }

/** The operations of the group `nodeTypes`. */
export const make = Effect.gen(function* () {
  const { all } = yield* NodeTypes
  const priced = describe((yield* CurrentPrices)?.prices)
  let types = all()
  const itemsOf = () => [...types.values()].flatMap(versionsOf).map(priced)
  let items = itemsOf()
  const list = Effect.sync(() => {
    if (types !== all()) {
      types = all()
      items = itemsOf()
    }
    return { value: { items } }
  })
  return { list: () => list } satisfies OperationsOf<"nodeTypes">
})
