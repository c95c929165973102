/**
 * Messages in a random script: what is sent and read, and what a commit takes, starts and sends.
 *
 * Guarantees: the same dice draw the same commands. Leaves out: what stores make of them.
 */
import * as Ledger from "@millrace/core/domain/Ledger"
import type { NewMessage } from "@millrace/core/domain/Message"
import type { Run } from "@millrace/core/domain/Run"
import { never } from "@millrace/core/domain/Timestamp"
import type { SignalKey, SignalWait } from "@millrace/core/domain/WorkflowSignal"
import type { RunCommit, RunStore, StartedRun } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { Cast } from "./ModelCast.ts"
import { contentOf, errorOf, eventOf, nodeRunOf, runOf, timeOf } from "./ModelCast.ts"
import type { Dice } from "./ModelDice.ts"
import type { StoreModel } from "./StoreModel.ts"

/** What a script does with messages. Runs and accounts are named by their slots. */
export type MessageCommand =
  | {
      readonly _tag: "Send"
      readonly run: number
      readonly as: "own" | number
      readonly message: number
    }
  | {
      readonly _tag: "Signal"
      readonly workflow: number
      readonly as: "own" | number
      readonly signal: number
      /** Its id, if it is sent once only; `null` if others have the id of this signal, too. */
      readonly once: number | null
    }
  | {
      readonly _tag: "Inboxes"
      readonly runs: ReadonlyArray<number>
      readonly after: number
      readonly held: ReadonlyArray<number>
    }

/** A run that a commit starts. */
interface Start {
  readonly run: number
  readonly estimate: number
  /** What came of it, if it was computed; else `null`. */
  readonly ended: number | null
}

/** What a commit has to do with messages and other runs. */
export interface Carried {
  /** How far from the last message the one is that it has seen; `null` where it says none. */
  readonly seen: number | null
  /** How many messages it takes. */
  readonly takes: number
  readonly starts: ReadonlyArray<Start>
  readonly sends: ReadonlyArray<{ readonly run: number; readonly message: number }>
  /** What it waits for from now on; `null` where nothing of that changes. */
  readonly waits: ReadonlyArray<{ readonly signal: number; readonly isOver: boolean }> | null
}

/** How many different messages a script knows. */
const messages = 6

const times = <A>(dice: Dice, most: number, draw: () => A): ReadonlyArray<A> =>
  Array.from({ length: dice.chance(30) ? dice.below(most + 1) : 0 }, draw)

/** What a commit carries, in a script with so many runs. */
export const drawCarried = (dice: Dice, runs: number): Carried => ({
  seen: dice.chance(60) ? null : dice.of([0, 0, 0, -1, 1]),
  takes: dice.of([0, 0, 1, 2]),
  starts: times(dice, 3, () => ({
    run: dice.below(runs),
    estimate: dice.of([0, 250_000]),
    ended: dice.of([null, null, 0, 1, 5]),
  })),
  sends: times(dice, 2, () => ({ run: dice.below(runs), message: dice.below(messages) })),
  waits: dice.chance(40)
    ? null
    : Array.from({ length: dice.below(4) }, () => ({
        signal: dice.below(messages),
        isOver: dice.chance(10),
      })),
})

/** Draws a signal that is sent to a workflow. */
export const drawSignal = (dice: Dice, workflows: number, accounts: number): MessageCommand => ({
  _tag: "Signal",
  workflow: dice.chance(70) ? dice.below(2) : dice.below(workflows),
  as: dice.chance(90) ? "own" : dice.below(accounts),
  signal: dice.below(messages * 3),
  once: dice.chance(60) ? null : dice.below(1e9),
})

/** Draws a message that is sent. */
export const drawSend = (dice: Dice, runs: number, accounts: number): MessageCommand => ({
  _tag: "Send",
  run: dice.below(runs),
  as: dice.chance(90) ? "own" : dice.below(accounts),
  message: dice.below(messages),
})

/** Draws a look into inboxes. */
export const drawInboxes = (dice: Dice, runs: number): MessageCommand => ({
  _tag: "Inboxes",
  runs: dice.some([...Array(runs).keys()], 1 + dice.below(4)),
  after: dice.below(3),
  held: dice.some([1, 2, 3], dice.below(3)),
})

/** A message; those of the same number have one id, and say different things of different runs. */
const messageOf = (message: number, run: number): NewMessage => ({
  id: `message ${message}`,
  name: errorOf(message),
  payload: contentOf(message + run),
})

/** What signals and waits of this number are about; some have the same. */
const keyOf = (signal: number): SignalKey => ({
  name: `paid ${signal % 2}`,
  correlation: errorOf(signal % 3),
})

/** A wait; those of higher numbers want only some payloads. */
const waitOf = (signal: number, isOver: boolean): SignalWait => ({
  ...keyOf(signal),
  filter: signal < 3 ? null : { path: "from", op: "lessThan", value: signal * 3 },
  until: isOver ? 1 : never,
})

/** A run that a commit starts; one that was computed has what came of it. */
const startedOf = (cast: Cast, run: Run, { ended, estimate }: Start): StartedRun => {
  const definition = cast.definitions[0]!
  const reserved = estimate === 0 ? [] : [Ledger.reserve(estimate, timeOf(6))]
  if (ended === null) return { run, definition, credits: reserved }
  const row = { ...nodeRunOf("n0", ended), sequence: 2 }
  const { credits, finishedAt, nodeId, output, status } = row
  const cost = credits === 0 ? [] : [Ledger.post(estimate, nodeId, 1, credits, timeOf(7))]
  const held = [...reserved, ...cost].reduce((sum, each) => sum + each.reserved, 0)
  const moved = [...reserved, ...cost]
  return {
    run: {
      ...run,
      status: status === "FAILED" ? "FAILED" : "COMPLETED",
      startedAt: run.createdAt,
      finishedAt,
      output,
      heldCredits: 0,
      actualCredits: credits,
      sequence: 3,
    },
    definition,
    nodeRuns: [row],
    events: [eventOf(run, 1, ended), eventOf(run, 3, ended)],
    credits: moved.length === 0 ? [] : [...moved, Ledger.voidRest(held, timeOf(8))],
  }
}

/** What a commit of a run carries. A run that it starts is always of the same account. */
export const carriedOf = (
  cast: Cast,
  model: StoreModel,
  run: Run,
  { seen, sends, starts, takes, waits }: Carried,
): Pick<RunCommit, "seen" | "taken" | "starts" | "messages" | "signals"> => {
  const untaken = model.runs.untaken(run.id)
  const slots = [...new Set(starts.map((each) => each.run))]
  return {
    seen: seen === null ? undefined : run.messages + seen,
    taken: untaken.slice(0, takes).map((number) => ({ number, nodeId: `n${number}` })),
    starts: slots
      .filter((slot) => cast.runs[slot] !== run.id)
      .map((slot) => {
        const start = starts.find((each) => each.run === slot)!
        const { estimate } = start
        const fresh = { accountId: run.accountId, createdAt: timeOf(slot) }
        const credits = { estimatedCredits: estimate, heldCredits: estimate }
        return startedOf(cast, runOf(cast, slot, { ...fresh, ...credits }), start)
      }),
    signals:
      waits === null
        ? undefined
        : {
            waits: waits.map(({ isOver, signal }) => waitOf(signal, isOver)),
            before: model.runs.waitsOf(run.id),
          },
    messages: sends
      .filter((each) => cast.runs[each.run] !== run.id)
      .map(({ message, run: slot }) => ({
        runId: cast.runs[slot]!,
        message: messageOf(message, slot),
      })),
  }
}

/** The messages of runs, without the times that a store gave them, in one order. */
export const inboxesOf = (
  store: RunStore["Service"],
  cast: Cast,
  {
    after,
    held,
    runs,
  }: Pick<Extract<MessageCommand, { _tag: "Inboxes" }>, "after" | "held" | "runs">,
) => {
  const requests = runs.map((slot) => ({ runId: cast.runs[slot]!, after, held }))
  return Effect.map(store.inboxes(requests), (inboxes) =>
    inboxes
      .map(({ messages: all, runId }) => ({ runId, all: all.map(({ at: _, ...rest }) => rest) }))
      .toSorted((a, b) => (a.runId < b.runId ? -1 : 1)),
  )
}

const sendSignal = (
  store: RunStore["Service"],
  cast: Cast,
  model: StoreModel,
  { as, once, signal, workflow }: Extract<MessageCommand, { _tag: "Signal" }>,
) => {
  const id = cast.workflows[workflow]!
  const owner = model.workflows.workflows().find((each) => each.id === id)?.accountId
  const account = as === "own" ? (owner ?? cast.accounts[0]!) : cast.accounts[as]!
  const named = { id: `signal ${once ?? signal}`, isNamed: once === null }
  return store.signal(account, id, { ...keyOf(signal), ...named, payload: { from: signal } })
}

/** Does what a command asks for. */
export const messageAct =
  (cast: Cast, model: StoreModel, command: MessageCommand) =>
  ({ runs }: { readonly runs: RunStore["Service"] }) => {
    if (command._tag === "Inboxes") return inboxesOf(runs, cast, command)
    if (command._tag === "Signal") return sendSignal(runs, cast, model, command)
    const id = cast.runs[command.run]!
    const owner = model.runs.runs().find((run) => run.id === id)?.accountId
    const own = owner ?? cast.accounts[0]!
    const account = command.as === "own" ? own : cast.accounts[command.as]!
    return runs.send(account, id, messageOf(command.message, command.run))
  }
