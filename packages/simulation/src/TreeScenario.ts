/**
 * What a seed draws for a simulation of child runs, as plain data: workflows that start each other,
 * the roots, and what goes wrong.
 */
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import type { Dice } from "./ModelDice.ts"
import type { Blow } from "./SimActions.ts"
import { diceFor } from "./SimBehavior.ts"
import { askedOf, type Content, contentOf } from "./SimContents.ts"
import { blowOf, serverCount, type Setup, setupOf } from "./SimScenario.ts"

/** A node that starts runs of another workflow. */
export interface Branch {
  readonly nodeId: string
  readonly workflow: number
  readonly count: number
  readonly concurrency: number
  readonly onError: "stop" | "continue"
}

/** One thing that goes wrong, or that somebody asks for. */
export type TreeAction =
  | { readonly _tag: "Hit"; readonly at: number; readonly server: number; readonly blow: Blow }
  | { readonly _tag: "Cancel"; readonly at: number; readonly server: number; readonly root: number }
  | {
      /** Cancels the so-manieth child that there is then, counted around. */
      readonly _tag: "CancelChild"
      readonly at: number
      readonly server: number
      readonly child: number
    }
  | {
      /** Hits a server in the middle of the so-manieth commit that arrives at the store. */
      readonly _tag: "Strike"
      readonly count: number
      readonly place: "arriving" | "landed"
      readonly blow: Blow
    }

/** The roots of trees, and what goes wrong while they execute. */
export interface Trouble {
  readonly seed: number
  readonly setup: Setup
  /** What is drafted and published of the workflows. */
  readonly content: Content
  /** The workflow of each root, when it is started, and where. */
  readonly roots: ReadonlyArray<{
    readonly workflow: number
    readonly at: number
    readonly server: number
  }>
  readonly actions: ReadonlyArray<TreeAction>
  /** From here on nothing more goes wrong. */
  readonly healedAt: number
}

/** What one seed draws. */
export interface TreeScenario extends Trouble {
  /** Of each workflow; the first one has none, and starts nothing. */
  readonly branches: ReadonlyArray<ReadonlyArray<Branch>>
}

/** What the workflow of this number is called by. */
export const workflowIdOf = (workflow: number): WorkflowId => WorkflowId.make(`wf_${workflow}`)

/** For so long things go wrong. */
export const spread = 20_000

const branchOf = (dice: Dice, nodeId: string, workflow: number): Branch => ({
  nodeId,
  workflow: dice.below(workflow),
  count: dice.of(workflow === 1 ? [1, 2, 3, 5] : [1, 1, 2, 3]),
  concurrency: dice.of([1, 2, 5]),
  onError: dice.of(["stop", "continue"]),
})

const actionOf = (dice: Dice, roots: number): TreeAction => {
  const at = dice.below(spread)
  const server = dice.below(serverCount)
  switch (dice.below(7)) {
    case 6:
      return { _tag: "CancelChild", at, server, child: dice.below(50) }
    case 0:
    case 1:
      return { _tag: "Hit", at, server, blow: blowOf(dice) }
    case 2:
      return { _tag: "Cancel", at, server, root: dice.below(roots) }
    default: {
      const count = 1 + dice.below(dice.of([5, 15, 60]))
      return { _tag: "Strike", count, place: dice.of(["arriving", "landed"]), blow: blowOf(dice) }
    }
  }
}

/** What goes wrong, so often. */
export const actionsOf = (dice: Dice, count: number, roots: number) =>
  Array.from({ length: count }, () => actionOf(dice, roots))

/** Some roots, of all workflows but the first one. */
export const rootsOf = (dice: Dice, workflows: number): Trouble["roots"] =>
  Array.from({ length: 1 + dice.below(3) }, () => ({
    workflow: 1 + dice.below(workflows - 1),
    at: 500 + dice.below(spread / 4),
    server: dice.below(serverCount),
  }))

/** The scenario of a seed. */
export const treeScenarioOf = (seed: number): TreeScenario => {
  const dice = diceFor(seed, "trees")
  const isFaultFree = dice.chance(10)
  const levels = 2 + dice.below(3)
  const branches = Array.from({ length: levels }, (_, workflow) =>
    workflow === 0
      ? []
      : Array.from({ length: 1 + dice.below(2) }, (__, at) => branchOf(dice, `n${at}`, workflow)),
  )
  const roots = rootsOf(dice, levels)
  const actions = actionsOf(dice, isFaultFree ? 0 : dice.below(8), roots.length)
  const setup = { ...setupOf(dice, isFaultFree), offsets: [0, 0, 0, 0], attemptsPerRun: 1_000 }
  const content = contentOf(seed)
  return { seed, setup, content, branches, roots, actions, healedAt: spread + 5_000 }
}

const edgeOf = (
  source: string,
  target: string,
  ports: Pick<Edge, "sourceHandle" | "targetHandle">,
) => ({ id: `${source}-${target}`, source, target, ...ports }) satisfies Edge

/** The drawing of a workflow: what its request brings goes to every node, and their outputs out. */
export const treeDrawingOf = (branches: ReadonlyArray<Branch>, content: Content) => {
  const version = askedOf(content)
  const asked = version === undefined ? {} : { version }
  const nodeOf = (id: string, type: string, inputs: Record<string, string | number>): Node => ({
    id,
    type,
    position: { x: 0, y: 0 },
    data: { inputs },
  })
  const works =
    branches.length === 0
      ? [nodeOf("leaf", "leaf", {})]
      : branches.map(({ nodeId, ...inputs }) => nodeOf(nodeId, "branch", { ...inputs, ...asked }))
  const asks: Node = {
    ...nodeOf("ask", "request", {}),
    data: { inputs: { fields: [{ name: "item" }] } },
  }
  // A second response, so that each output has its name.
  const answers = works.map(({ id }) => nodeOf(`${id}-out`, "response", { name: id }))
  return {
    nodes: [asks, ...works, ...answers],
    edges: works.flatMap(({ id }) => [
      edgeOf("ask", id, { sourceHandle: "item", targetHandle: "item" }),
      edgeOf(id, `${id}-out`, {}),
    ]),
  }
}
