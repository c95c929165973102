/**
 * What a seed draws of reruns, as plain data: which runs are run again, how, and what befalls the
 * server that is asked.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import type { Node } from "@millrace/core/domain/Workflow"
import type { Dice } from "./ModelDice.ts"
import type { Action, Blow, RerunAction, StartAction } from "./SimActions.ts"
import { diceFor } from "./SimBehavior.ts"
import { type Drawing, outputsOf } from "./SimDrawing.ts"
import { typeOf } from "./SimNodes.ts"

/** A node as somebody has changed it, with what handlers do not look at. */
export const changed = (node: Node, note: string): Node => ({
  ...node,
  data: { ...(node.data as JsonObject), note },
})

/** A drawing with another node, behind this one. */
const grown = (drawing: Drawing, behind: Node, id: string): Drawing => {
  const added: Node = { id, type: "step", position: { x: 0, y: 0 }, data: { inputs: {} } }
  const port = outputsOf(behind)[0]!
  const edge = { id: `to-${id}`, source: behind.id, target: id, sourceHandle: port }
  return { ...drawing, nodes: [...drawing.nodes, added], edges: [...drawing.edges, edge] }
}

/** A drawing as it is after an edit: a node has changed, or another one follows it. */
export const edited = (
  drawing: Drawing,
  { isGrown, nodeId }: { readonly nodeId: string; readonly isGrown: boolean },
  revision: number,
): Drawing => {
  const node = drawing.nodes.find(({ id }) => id === nodeId)!
  if (isGrown) return grown(drawing, node, `x${revision}`)
  const nodes = drawing.nodes.map((each) => (each === node ? changed(each, `${revision}`) : each))
  return { ...drawing, nodes }
}

const rerunOf = (
  dice: Dice,
  { run }: StartAction,
  nodes: ReadonlyArray<Node>,
  draw: {
    readonly server: number
    readonly blow: Blow
    readonly pinned: (node: Node) => JsonObject
  },
  index: number,
): RerunAction => {
  const works = nodes.filter(({ type }) => typeOf(type).role === "step")
  const isBatch = dice.chance(20)
  const from = dice.chance(40) ? nodes.filter(() => dice.chance(25)) : []
  const pins = dice.chance(25) ? works.filter(() => dice.chance(25)) : []
  const replaced = dice.chance(15) ? [dice.of(works)] : []
  const place = dice.of(["arriving", "landed"] as const)
  return {
    _tag: "Rerun",
    keyId: `key_${index}`,
    server: draw.server,
    run,
    place: dice.of([0, 0, 0, 1, 1, 2]),
    delayMillis: dice.chance(5) ? null : dice.of([0, 0, 1, 50, 1_000, 5_000]),
    isBatch,
    isNamed: dice.chance(60),
    from: isBatch ? [] : from.map(({ id }) => id),
    definition: dice.chance(35) ? "current" : "same",
    replaced: isBatch
      ? []
      : replaced.map((node) => ({ ...changed(node, "again"), position: { x: 1, y: 1 } })),
    pinned: isBatch ? {} : Object.fromEntries(pins.map((node) => [node.id, draw.pinned(node)])),
    strike: dice.chance(30) ? { place, blow: draw.blow } : null,
  }
}

/** In some stories runs are run again, and workflows change meanwhile. */
export const rerunsOf = (
  seed: number,
  starts: ReadonlyArray<StartAction>,
  workflows: ReadonlyArray<Drawing>,
  draw: {
    readonly server: (dice: Dice) => number
    readonly at: (dice: Dice) => number
    readonly blow: (dice: Dice) => Blow
    readonly pinned: (dice: Dice, node: Node) => JsonObject
  },
): ReadonlyArray<Action> => {
  const dice = diceFor(seed, "reruns")
  if (!dice.chance(40)) return []
  const reruns = Array.from({ length: 1 + dice.below(5) }, (_, index) => {
    const start = dice.of(starts)
    const pinned = (node: Node) => draw.pinned(dice, node)
    const drawn = { server: draw.server(dice), blow: draw.blow(dice), pinned }
    return rerunOf(dice, start, workflows[start.workflow]!.nodes, drawn, index)
  })
  const edits = Array.from({ length: dice.below(3) }, (): Action => {
    const workflow = dice.below(workflows.length)
    const { edges, nodes } = workflows[workflow]!
    const { id: nodeId } = dice.of(nodes.filter(({ type }) => typeOf(type).role === "step"))
    // A node without edges may lack inputs that it needs as soon as it has one.
    const isJoined = edges.some(({ source, target }) => [source, target].includes(nodeId))
    const change = { nodeId, isGrown: dice.chance(40) && isJoined }
    return { _tag: "Edit", at: draw.at(dice), workflow, change }
  })
  return [...reruns, ...edits]
}
