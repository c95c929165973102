/**
 * Everything that a seed draws for a simulation, as plain data: the servers, the workflows, what
 * clients ask for, and what goes wrong.
 *
 * Guarantees: the same seed draws the same scenario, and a scenario stays one when any of its
 * actions is left out. Leaves out: what the handlers do, which `SimBehavior` says, and playing it.
 */
import { messagesPerRun } from "@millrace/core/domain/Limits"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { InputOverrides, PinnedOutputs } from "@millrace/core/domain/Run"
import type { Node } from "@millrace/core/domain/Workflow"
import type * as Dice from "./ModelDice.ts"
import type { Action, Blow, RerunAction, Sent, StartAction } from "./SimActions.ts"
import { strikable } from "./SimActions.ts"
import { diceFor, messageNames, type Mood } from "./SimBehavior.ts"
import { type Drawing, drawingOf, outputsOf } from "./SimDrawing.ts"
import { largeBytes } from "./SimFlow.ts"
import { typeOf } from "./SimNodes.ts"
import { rerunsOf } from "./SimRerunDrawing.ts"

/** How many servers there are. */
export const serverCount = 3

/** How the servers are set up, and how reliable the store is, in percent of operations. */
export interface Setup {
  readonly leaseMillis: number
  readonly pollMillis: number
  readonly graceMillis: number
  readonly claimLimit: number
  readonly nodesAtOnce: number
  readonly nodesPerStep: number
  readonly largeValueBytes: number
  readonly attemptsPerRun: number
  readonly runsAtOnce: number
  readonly runsPerAccount: number
  readonly runsPerWorkflow: number
  /** How many operations a fiber makes before it lets another one go on. */
  readonly opsBeforeYield: number
  /** The longest way to the store and back; 0 answers on the spot. */
  readonly latencyMillis: number
  readonly refused: number
  readonly lost: number
  readonly doubled: number
  /** Ahead of time by so much. */
  readonly offsets: ReadonlyArray<number>
}

/** What one seed draws. */
export interface Scenario {
  readonly seed: number
  readonly setup: Setup
  readonly mood: Mood
  readonly workflows: ReadonlyArray<Drawing>
  readonly actions: ReadonlyArray<Action>
  /** The number of a run whose nodes end the processes that call them. */
  readonly guilty: number | null
  /** From here on nothing more goes wrong, but for the guilty run. */
  readonly healedAt: number
}

const spread = 20_000
const hour = 3_600_000

/** How servers are set up; those without faults lose nothing on the way to their store. */
export const setupOf = (dice: Dice.Dice, isFaultFree: boolean): Setup => {
  const isSkewed = !isFaultFree && dice.chance(15)
  return {
    leaseMillis: dice.of([8_000, 12_000]),
    pollMillis: dice.of([1_000, 2_000]),
    graceMillis: dice.of([500, 3_000]),
    claimLimit: dice.of([1, 2, 100]),
    nodesAtOnce: dice.of([1, 2, 3, 10]),
    nodesPerStep: dice.of([1, 2, 3, 1_000, 1_000]),
    largeValueBytes: largeBytes,
    attemptsPerRun: dice.chance(10) ? 4 : 1_000,
    runsAtOnce: dice.chance(20) ? 1 : 100,
    runsPerAccount: dice.chance(10) ? 1 + dice.below(2) : Infinity,
    runsPerWorkflow: dice.chance(10) ? 1 : Infinity,
    opsBeforeYield: dice.chance(25) ? 5 + dice.below(60) : 2_048,
    latencyMillis: dice.of([0, 1, 5, 40, 200]),
    refused: isFaultFree ? 0 : dice.of([0, 0, 2, 10]),
    lost: isFaultFree ? 0 : dice.of([0, 0, 2, 10]),
    doubled: isFaultFree ? 0 : dice.of([0, 5]),
    offsets: Array.from({ length: serverCount + 1 }, () =>
      isSkewed ? dice.below(2 * 40_000) - 40_000 : 0,
    ),
  }
}

const moodOf = (dice: Dice.Dice): Mood => ({
  fail: dice.of([0, 15, 30, 60]),
  hang: dice.of([0, 0, 5]),
  suspend: dice.of([0, 10, 30]),
  slow: dice.of([0, 10, 30]),
  isLong: dice.chance(5),
  listen: 0,
  large: 0,
})

/** In half of the stories nodes wait for messages, too. */
const listening = (mood: Mood, dice: Dice.Dice): Mood =>
  dice.chance(50)
    ? {
        ...mood,
        suspend: Math.max(mood.suspend, dice.of([30, 70])),
        slow: Math.max(mood.slow, dice.of([0, 50])),
        listen: dice.of([50, 90]),
      }
    : mood

/** Something that happens to a server. */
export const blowOf = (dice: Dice.Dice): Blow => {
  const millis = dice.of([10, 500, 3_000, 9_000, 14_000, 30_000])
  switch (dice.below(5)) {
    case 0:
    case 1:
      return { _tag: "Crash", downMillis: millis }
    case 2:
    case 3:
      return { _tag: "Pause", millis }
    default:
      return { _tag: "Drain", downMillis: millis }
  }
}

const overridesOf = (dice: Dice.Dice, { nodes }: Drawing): InputOverrides => {
  if (!dice.chance(20)) return {}
  const node = dice.of(nodes)
  const value: Json = node.type === "many" ? { items: ["over"] } : { input: "over" }
  return node.type === "all" || node.type === "request" ? {} : { [node.id]: value }
}

const hasExpressions = ({ nodes }: Drawing): boolean => JSON.stringify(nodes).includes("{{ ")

const startOf = (
  dice: Dice.Dice,
  workflows: ReadonlyArray<Drawing>,
  workflow: number,
  run: number,
): StartAction => {
  const drawing = workflows[workflow]!
  const chosen = run > 0 && dice.chance(15) ? dice.of(drawing.nodes) : undefined
  // What an expression names of a node before it is not there when its node runs alone.
  const single = hasExpressions(drawing) ? undefined : chosen
  const replaced = dice.chance(10) ? dice.of(drawing.nodes) : undefined
  return {
    _tag: "Start",
    at: run === 0 ? 500 : dice.below(spread / 2),
    server: dice.below(serverCount),
    workflow,
    run,
    overrides: single === undefined ? overridesOf(dice, drawing) : {},
    replaced: replaced === undefined ? [] : [{ ...replaced, position: { x: 1, y: 1 } }],
    pinned: {},
    single: single?.id ?? null,
  }
}

/** What a start gives in the place of a node: some of its outputs, none of them, or a failure. */
const pinnedOf = (dice: Dice.Dice, node: Node): JsonObject => {
  if (dice.chance(10)) return { error: { message: "pinned", nodeId: node.id, attempt: 1 } }
  const ports = outputsOf(node).filter(() => dice.chance(70))
  return Object.fromEntries(ports.map((port) => [port, dice.of<Json>(["pinned", 7, null])]))
}

/** In some stories starts give what nodes put out. */
const withPins = (
  seed: number,
  starts: ReadonlyArray<StartAction>,
  workflows: ReadonlyArray<Drawing>,
): ReadonlyArray<StartAction> => {
  const dice = diceFor(seed, "pins")
  if (!dice.chance(40)) return starts
  return starts.map((start) => {
    const nodes = workflows[start.workflow]!.nodes.filter(
      ({ type }) => typeOf(type).role === "step" && dice.chance(25),
    )
    const pinned = Object.fromEntries(nodes.map((node) => [node.id, pinnedOf(dice, node)]))
    return start.single === null ? { ...start, pinned } : start
  })
}

/** A workflow is edited between two starts on one server, which has read it for the first. */
const editOf = (
  seed: number,
  workflows: ReadonlyArray<Drawing>,
  run: number,
): ReadonlyArray<Action> => {
  const dice = diceFor(seed, "edit")
  if (!dice.chance(30)) return []
  const workflow = dice.below(workflows.length)
  const server = dice.below(serverCount)
  const begin = dice.below(spread / 2)
  const at = begin + dice.of([1, 50, 1_000])
  const again = at + dice.of([0, 1, 50, 1_000])
  return [
    { ...startOf(dice, workflows, workflow, run), server, at: begin },
    { _tag: "Edit", at, workflow },
    { ...startOf(dice, workflows, workflow, run + 1), server, at: again },
  ]
}

const faultOf = (dice: Dice.Dice, runs: number): Action => {
  const at = dice.below(spread)
  const server = dice.below(serverCount)
  const place = dice.of(["request", "answer"] as const)
  switch (dice.below(14)) {
    case 0:
    case 1:
      return { _tag: "Hit", at, server, blow: blowOf(dice) }
    case 2:
    case 6:
      return { _tag: "Outage", at, server, millis: dice.of([100, 2_000, 9_000, 16_000]), place }
    case 3:
      return { _tag: "Leap", at, millis: dice.of([5_000, 15_000, 60_000, hour]) }
    case 4:
    case 5:
      return { _tag: "Cancel", at, server, run: dice.below(runs) }
    default: {
      const operation = dice.of(["commit", "commit", "commit", ...strikable] as const)
      return {
        _tag: "Strike",
        operation,
        count: 1 + dice.below(operation === "takeOver" ? 2 : dice.of([5, 15, 40])),
        place: dice.of(["arriving", "landed", "landed"]),
        blow: dice.chance(12) ? { _tag: "Cancel", server } : blowOf(dice),
      }
    }
  }
}

/** Few ids, so that some messages are sent twice, also under another name. */
const sentOf = (dice: Dice.Dice): Sent => ({
  id: `m${dice.below(8)}`,
  name: dice.of(messageNames),
})

const blowAround = (dice: Dice.Dice): Extract<Action, { readonly _tag: "Strike" }> => {
  const place = dice.of(["arriving", "landed"] as const)
  return dice.chance(75)
    ? {
        _tag: "Strike",
        operation: dice.of(["commit", "commit", "commit", "claim", "inboxes"] as const),
        count: 1 + dice.below(dice.of([5, 15])),
        place,
        blow: { _tag: "Send", message: sentOf(dice) },
      }
    : {
        _tag: "Strike",
        operation: dice.of(["send", "inboxes"] as const),
        count: 1 + dice.below(6),
        place,
        blow: blowOf(dice),
      }
}

/** Messages that come at some time, and those that race with what a server does. */
const messagesOf = (
  dice: Dice.Dice,
  starts: ReadonlyArray<StartAction>,
  isFaultFree: boolean,
): ReadonlyArray<Action> => {
  const sends = Array.from({ length: dice.below(12) }, (): Action => {
    const { at, run } = dice.of(starts)
    return {
      _tag: "Send",
      at: dice.chance(10) ? dice.below(2 * spread) : at + dice.below(dice.of([100, 2_000, spread])),
      server: dice.below(serverCount),
      run,
      message: sentOf(dice),
      count: dice.chance(1) ? messagesPerRun + 3 : 1,
    }
  })
  const races = Array.from({ length: dice.below(isFaultFree ? 1 : 8) }, () => blowAround(dice))
  const aims = Array.from({ length: isFaultFree ? 1 : 4 }, (_, index): Action => ({
    _tag: "Aim",
    count: 1 + dice.below(6),
    id: `aimed ${index}`,
    earlyMillis: dice.of([-1, 0, 0, 1, 50, 400, 900]),
  }))
  return [...sends, ...races, ...aims]
}

/** Servers end just before and after they store a large value. */
const valueStrikes = (dice: Dice.Dice): ReadonlyArray<Action> =>
  Array.from({ length: dice.below(3) }, () => ({
    _tag: "Strike",
    operation: "put",
    count: 1 + dice.below(6),
    place: dice.of(["arriving", "landed"] as const),
    blow: blowOf(dice),
  }))

const skewOf = (dice: Dice.Dice): Action => {
  const clock = dice.below(serverCount + 1)
  const millis = dice.of([-hour, -20_000, 20_000, hour])
  const forward = clock === serverCount ? Math.abs(millis) : millis
  return { _tag: "Skew", at: dice.below(spread), clock, millis: forward }
}

const guiltyOf = (seed: number, runs: number): number | null => {
  const dice = diceFor(seed, "guilty")
  return dice.chance(25) ? dice.below(runs) : null
}

/** The scenario of a seed. */
export const scenarioOf = (seed: number): Scenario => {
  const dice = diceFor(seed, "scenario")
  const isFaultFree = dice.chance(10)
  const setup = setupOf(dice, isFaultFree)
  const flow = diceFor(seed, "flow")
  const flows = flow.chance(40) ? flow : undefined
  const workflows = Array.from({ length: 1 + dice.below(2) }, () => drawingOf(dice, flows))
  const runs = 1 + dice.below(4)
  const plain = Array.from({ length: runs }, (_, run) =>
    startOf(dice, workflows, dice.below(workflows.length), run),
  )
  const starts = withPins(seed, plain, workflows)
  const faults = isFaultFree
    ? []
    : Array.from({ length: dice.below(8) }, () => faultOf(dice, runs)).concat(
        setup.offsets.some((offset) => offset !== 0) ? [skewOf(dice)] : [],
      )
  const talk = diceFor(seed, "messages")
  const usual = listening(moodOf(dice), talk)
  const mood = flows === undefined ? usual : { ...usual, large: flows.of([0, 20, 60]) }
  const messages = mood.listen === 0 ? [] : messagesOf(talk, starts, isFaultFree)
  return {
    seed,
    setup,
    mood,
    workflows,
    actions: [
      ...starts,
      ...editOf(seed, workflows, runs),
      ...rerunsOf(seed, starts, workflows, {
        server: (each) => each.below(serverCount),
        at: (each) => each.below(spread),
        blow: blowOf,
        pinned: pinnedOf,
      }),
      ...faults,
      ...messages,
      ...(flows === undefined || isFaultFree ? [] : valueStrikes(flows)),
    ],
    guilty: guiltyOf(seed, runs),
    healedAt: spread + 5_000,
  }
}

/** What the start of a run gives in the place of nodes, by the number of the run. */
export const pinsOf = ({ actions }: Scenario): ReadonlyMap<unknown, PinnedOutputs> =>
  new Map(actions.flatMap((each) => (each._tag === "Start" ? [[each.run, each.pinned]] : [])))

/** The reruns that are asked for, by the API key that they name. */
export const rerunActionsOf = ({ actions }: Scenario): ReadonlyMap<unknown, RerunAction> =>
  new Map(actions.flatMap((each) => (each._tag === "Rerun" ? [[each.keyId, each]] : [])))

/** True where the store's clock is set: then times in records say little. */
export const isSkewed = ({ actions }: Scenario): boolean =>
  actions.some((action) => action._tag === "Skew" && action.clock === serverCount)

/** True where runs queue for slots or under caps: a run may go on long after its wait is over. */
export const isCrowded = ({ runsAtOnce, runsPerAccount, runsPerWorkflow }: Setup): boolean =>
  runsAtOnce < 10 || Number.isFinite(runsPerAccount) || Number.isFinite(runsPerWorkflow)
