/**
 * The commands that a random script is made of, and how a seed draws them.
 *
 * A command is plain data and names things by their slot, so that it means something in every
 * state: a script stays a script when any of its commands is left out. What fits the state, such as
 * the right fence, is said as a distance from it.
 *
 * Guarantees: the same seed draws the same script. Leaves out: doing it.
 */
import type { RunSource, RunStatus } from "@millrace/core/domain/Run"
import * as Dice from "./ModelDice.ts"
import type { Carried, MessageCommand } from "./ModelMessages.ts"
import { drawCarried, drawInboxes, drawSend, drawSignal } from "./ModelMessages.ts"
import { slots } from "./ModelSlots.ts"
import { names, searches } from "./ModelTexts.ts"
import { type CurrentDistance, drawCurrent, drawVersion } from "./ModelVersions.ts"
import type { VersionCommand } from "./ModelVersions.ts"

/** Who asks: the account that owns the thing, or the one in a slot, be it a stranger or not. */
export type Asker = "own" | number

/** Which part of a listing. `after` names the item in a slot, which need not be there. */
export interface Listing {
  readonly account: number
  readonly search?: string
  readonly after?: { readonly slot: number; readonly age: number }
  readonly skip?: number
  readonly limit: number
}

/** Whether a commit parks its run, and until when. */
export type Parking = "past" | "soon" | "never" | null

/** Which run blocked its runner, and for how long. */
export interface Block {
  readonly run: number
  readonly millis: number
}

/** A run's first commit. `age` is when it was created, `flavor` picks its opaque content. */
export interface Begin {
  readonly _tag: "Begin"
  readonly run: number
  readonly account: number
  readonly workflow: number
  readonly definition: number
  readonly owner: number | null
  /** Only of a run without an owner. */
  readonly parks: Parking
  readonly status: RunStatus
  readonly name: string
  readonly age: number
  readonly nodes: number
  readonly events: number
  readonly flavor: number
  /** What it sets aside. */
  readonly estimate: number
  readonly current: CurrentDistance | null
}

/** A run's further commit, decided on a fence and a revision so far from the right ones. */
export interface Advance {
  readonly _tag: "Advance"
  readonly run: number
  readonly as: Asker
  readonly fence: number
  readonly revision: number
  readonly status: RunStatus | "same"
  /** Only of a run that goes on. */
  readonly parks: Parking
  /** Whether the row also has what no commit may change, in vain. */
  readonly isCareless: boolean
  readonly nodes: number
  /** How many nodes that wait get another row. */
  readonly rewrites: number
  readonly events: number
  readonly flavor: number
  /** What it sets aside beyond what it has. */
  readonly extra: number
  /** Absent of one that is made together with others: then who is first makes a difference. */
  readonly carried?: Carried
}

/** Credits by hand; `operation` names what is done, and `at` an account. */
export type LedgerCommand =
  | {
      readonly _tag: "Grant"
      readonly account: number
      readonly operation: number
      readonly amount: number
      readonly priority: number
      readonly expires: "never" | "past" | "future"
    }
  | {
      readonly _tag: "Adjust"
      readonly account: number
      readonly operation: number
      readonly amount: number
    }
  | {
      readonly _tag: "Meter"
      readonly account: number
      readonly operation: number
      readonly isMetered: boolean
    }
  | { readonly _tag: "Statement"; readonly account: number; readonly limit: number }

export type KeyCommand =
  | { readonly _tag: "InsertAccount"; readonly account: number; readonly age: number }
  | { readonly _tag: "ListAccounts" }
  | {
      readonly _tag: "InsertKey"
      readonly key: number
      readonly hash: number
      readonly account: number
      readonly label: string
      readonly perMinute: number
      readonly perDay: number
      readonly expires: "never" | "past" | "future"
      readonly age: number
    }
  | {
      readonly _tag: "UpdateKey"
      readonly key: number
      readonly as: Asker
      readonly label?: string
      readonly perMinute?: number
      readonly perDay?: number
    }
  | { readonly _tag: "RevokeKey"; readonly key: number; readonly as: Asker }
  | { readonly _tag: "ListKeys"; readonly account: number }
  | { readonly _tag: "Admit"; readonly hash: number; readonly times: number }

export type WorkflowCommand =
  | {
      readonly _tag: "InsertWorkflow"
      readonly workflow: number
      readonly account: number
      readonly name: string
      readonly age: number
      readonly flavor: number
    }
  | {
      readonly _tag: "ReplaceWorkflow"
      readonly workflow: number
      readonly as: Asker
      readonly revision: number
      readonly name: string
      readonly flavor: number
    }
  | { readonly _tag: "RemoveWorkflow"; readonly workflow: number; readonly as: Asker }
  | VersionCommand
  | { readonly _tag: "FindWorkflow"; readonly workflow: number; readonly as: Asker }
  | ({ readonly _tag: "ListWorkflows" } & Listing)
  | ({ readonly _tag: "WalkWorkflows" } & Listing)

interface RunFilter {
  readonly workflow?: number
  readonly status?: RunStatus
  readonly source?: RunSource
}

export type RunCommand =
  | MessageCommand
  | Begin
  | Advance
  | { readonly _tag: "Together"; readonly commits: ReadonlyArray<Begin | Advance> }
  | {
      readonly _tag: "Claim"
      readonly runner: number
      readonly leaseMillis: number
      readonly limit: number
      readonly except?: ReadonlyArray<number>
      readonly after?: number
      readonly roomPerAccount?: number
      /** Accounts with how many runs of each may be taken. */
      readonly rooms?: ReadonlyArray<readonly [account: number, room: number]>
      readonly runsPerAccount?: number
      readonly runsPerWorkflow?: number
    }
  | {
      readonly _tag: "TakeOver"
      readonly run: number
      readonly as: Asker
      readonly runner: number
    }
  | {
      readonly _tag: "Heartbeat"
      readonly runner: number
      readonly leaseMillis: number
      readonly blocked?: Block | undefined
    }
  | { readonly _tag: "Requeue"; readonly runner: number; readonly runs: ReadonlyArray<number> }
  | { readonly _tag: "EndLease"; readonly runner: number; readonly blocked?: Block | undefined }
  | { readonly _tag: "Suspects" }
  | { readonly _tag: "Pardon"; readonly run: number }
  | { readonly _tag: "FindRun"; readonly run: number; readonly as: Asker }
  | { readonly _tag: "FindRuns"; readonly account: number; readonly runs: ReadonlyArray<number> }
  | {
      readonly _tag: "LatestOutputs"
      readonly account: number
      readonly workflow: number
      readonly nodes: number
    }
  | ({ readonly _tag: "ListRuns" } & Listing & RunFilter)
  | ({ readonly _tag: "WalkRuns" } & Listing & RunFilter)
  | {
      readonly _tag: "Events"
      readonly run: number
      readonly as: Asker
      readonly after: number
    }

/** One step of a script. `Wait` moves a clock that can be moved, and does nothing to a real one. */
export type Command =
  | KeyCommand
  | WorkflowCommand
  | RunCommand
  | LedgerCommand
  | { readonly _tag: "Wait"; readonly millis: number }

const hourMillis = 3_600_000
const leases = [0, hourMillis]
const pauses = [1_000, 59_000, 60_000, hourMillis, 24 * hourMillis]

type Draw = (dice: Dice.Dice) => Command

const ageOf = (dice: Dice.Dice) => dice.below(8)
const flavorOf = (dice: Dice.Dice) => dice.below(6)
const slotOf = (dice: Dice.Dice, kind: keyof typeof slots) => dice.below(slots[kind])
/** Mostly the first one: there is more to see in an account that has much. */
const accountOf = (dice: Dice.Dice) => (dice.chance(70) ? 0 : slotOf(dice, "accounts"))
const somebody = (dice: Dice.Dice): Asker => (dice.chance(80) ? "own" : slotOf(dice, "accounts"))

const someRuns = (dice: Dice.Dice): ReadonlyArray<number> =>
  Array.from({ length: dice.below(7) }, () => slotOf(dice, "runs"))

/** A distance from what is right, mostly none. */
const distance = (dice: Dice.Dice): number => (dice.chance(85) ? 0 : dice.of([-1, 1, 2]))

const labelOf = (dice: Dice.Dice): string => {
  const label = `Größe ${slotOf(dice, "labels")}`
  return dice.of([label, label, label.toUpperCase(), label.toLowerCase()])
}

const listing = (dice: Dice.Dice, kind: "workflows" | "runs"): Listing => ({
  account: accountOf(dice),
  ...(dice.chance(50) ? { search: dice.of(searches) } : {}),
  ...(dice.chance(40) ? { after: { slot: slotOf(dice, kind), age: ageOf(dice) } } : {}),
  ...(dice.chance(30) ? { skip: dice.of([0, 1, 2, 5, 1e9]) } : {}),
  limit: 1 + dice.below(5),
})

const walk = (dice: Dice.Dice): Listing => ({
  account: accountOf(dice),
  ...(dice.chance(30) ? { search: dice.of(searches) } : {}),
  limit: 1 + dice.below(3),
})

const filter = (dice: Dice.Dice): RunFilter => ({
  ...(dice.chance(20) ? { workflow: slotOf(dice, "workflows") } : {}),
  ...(dice.chance(20) ? { status: dice.of(["QUEUED", "RUNNING", "COMPLETED", "FAILED"]) } : {}),
  ...(dice.chance(20) ? { source: dice.of(["api", "ui", "mcp"]) } : {}),
})

const parking = (dice: Dice.Dice, percent: number): Parking =>
  dice.chance(percent) ? dice.of(["past", "soon", "never"]) : null

const begin = (dice: Dice.Dice): Begin => ({
  _tag: "Begin",
  run: slotOf(dice, "runs"),
  account: accountOf(dice),
  workflow: dice.chance(50) ? dice.below(2) : slotOf(dice, "workflows"),
  definition: slotOf(dice, "definitions"),
  owner: dice.chance(50) ? null : slotOf(dice, "runners"),
  parks: parking(dice, 10),
  status: dice.chance(90) ? dice.of(["QUEUED", "RUNNING"]) : dice.of(["COMPLETED", "FAILED"]),
  name: dice.of(names),
  age: ageOf(dice),
  nodes: dice.below(3),
  events: dice.below(4),
  flavor: flavorOf(dice),
  estimate: dice.of([0, 0, 250_000, 500_000, 1_250_000]),
  current: dice.chance(70) ? null : drawCurrent(dice, distance),
})

const advance = (dice: Dice.Dice): Advance => ({
  _tag: "Advance",
  run: slotOf(dice, "runs"),
  as: dice.chance(93) ? "own" : slotOf(dice, "accounts"),
  fence: distance(dice),
  revision: distance(dice),
  status: dice.chance(75)
    ? dice.of(["same", "RUNNING"])
    : dice.of(["COMPLETED", "FAILED", "CANCELED"]),
  parks: parking(dice, 30),
  isCareless: dice.chance(10),
  nodes: dice.below(3),
  rewrites: dice.below(3),
  events: dice.below(4),
  flavor: flavorOf(dice),
  extra: dice.of([0, 0, 0, 250_000, 1_000_000]),
})

/** Commits of different runs that set nothing aside, so that their order makes no difference. */
const together: Draw = (dice) => {
  const runs = dice.some([...Array(slots.runs).keys()], 2 + dice.below(4))
  const free = { estimate: 0, extra: 0 }
  const commits = runs.map((run) => ({ ...dice.of([begin, advance])(dice), ...free, run }))
  return { _tag: "Together", commits }
}

const insertKey: Draw = (dice) => {
  const key = slotOf(dice, "keys")
  return {
    _tag: "InsertKey",
    key,
    hash: dice.chance(95) ? key : slotOf(dice, "keys"),
    account: accountOf(dice),
    label: labelOf(dice),
    perMinute: 1 + dice.below(4),
    perDay: 1 + dice.below(6),
    expires: dice.of(["never", "never", "never", "never", "past", "future"]),
    age: ageOf(dice),
  }
}

const keyDraws: ReadonlyArray<Draw> = [
  (dice) => ({ _tag: "InsertAccount", account: slotOf(dice, "accounts"), age: ageOf(dice) }),
  () => ({ _tag: "ListAccounts" }),
  (dice) => ({
    _tag: "UpdateKey",
    key: slotOf(dice, "keys"),
    as: somebody(dice),
    ...(dice.chance(60) ? { label: labelOf(dice) } : {}),
    ...(dice.chance(30) ? { perMinute: 1 + dice.below(4) } : {}),
    ...(dice.chance(30) ? { perDay: 1 + dice.below(6) } : {}),
  }),
  (dice) => ({ _tag: "RevokeKey", key: slotOf(dice, "keys"), as: somebody(dice) }),
  (dice) => ({ _tag: "ListKeys", account: accountOf(dice) }),
  (dice) => ({ _tag: "Admit", hash: slotOf(dice, "keys"), times: 1 + dice.below(4) }),
]

const insertWorkflow: Draw = (dice) => ({
  _tag: "InsertWorkflow",
  workflow: slotOf(dice, "workflows"),
  account: accountOf(dice),
  name: dice.of(names),
  age: ageOf(dice),
  flavor: flavorOf(dice),
})

const workflowDraws: ReadonlyArray<Draw> = [
  (dice) => ({
    _tag: "ReplaceWorkflow",
    workflow: slotOf(dice, "workflows"),
    as: somebody(dice),
    revision: distance(dice),
    name: dice.of(names),
    flavor: flavorOf(dice),
  }),
  (dice) => ({
    _tag: "RemoveWorkflow",
    workflow: slotOf(dice, "workflows"),
    as: somebody(dice),
  }),
  (dice) => drawVersion(dice, somebody(dice)),
  (dice) => ({ _tag: "FindWorkflow", workflow: slotOf(dice, "workflows"), as: somebody(dice) }),
  (dice) => ({ _tag: "ListWorkflows", ...listing(dice, "workflows") }),
  (dice) => ({ _tag: "WalkWorkflows", ...walk(dice) }),
]

const blockOf = (dice: Dice.Dice): Block => ({
  run: slotOf(dice, "runs"),
  millis: 1 + dice.below(99),
})

const claim: Draw = (dice) => ({
  _tag: "Claim",
  runner: slotOf(dice, "runners"),
  leaseMillis: dice.of(leases),
  limit: dice.below(7),
  ...(dice.chance(20) ? { except: someRuns(dice) } : {}),
  ...(dice.chance(50) ? { after: slotOf(dice, "accounts") } : {}),
  ...(dice.chance(25) ? { roomPerAccount: dice.below(3) } : {}),
  ...(dice.chance(25) ? { rooms: [[slotOf(dice, "accounts"), dice.below(3)]] } : {}),
  ...(dice.chance(25) ? { runsPerAccount: dice.below(4) } : {}),
  ...(dice.chance(25) ? { runsPerWorkflow: dice.below(3) } : {}),
})

const runDraws: ReadonlyArray<Draw> = [
  together,
  claim,
  (dice) => drawSend(dice, slots.runs, slots.accounts),
  (dice) => drawInboxes(dice, slots.runs),
  (dice) => drawSignal(dice, slots.workflows, slots.accounts),
  (dice) => ({ ...advance(dice), carried: drawCarried(dice, slots.runs) }),
  (dice) => ({
    _tag: "TakeOver",
    run: slotOf(dice, "runs"),
    as: somebody(dice),
    runner: slotOf(dice, "runners"),
  }),
  (dice) => ({
    _tag: "Heartbeat",
    runner: slotOf(dice, "runners"),
    leaseMillis: dice.of(leases),
    ...(dice.chance(40) ? { blocked: blockOf(dice) } : {}),
  }),
  (dice) => ({ _tag: "Requeue", runner: slotOf(dice, "runners"), runs: someRuns(dice) }),
  (dice) => ({
    _tag: "EndLease",
    runner: slotOf(dice, "runners"),
    ...(dice.chance(40) ? { blocked: blockOf(dice) } : {}),
  }),
  () => ({ _tag: "Suspects" }),
  (dice) => ({ _tag: "Pardon", run: slotOf(dice, "runs") }),
  (dice) => ({ _tag: "FindRun", run: slotOf(dice, "runs"), as: somebody(dice) }),
  (dice) => ({ _tag: "FindRuns", account: accountOf(dice), runs: someRuns(dice) }),
  (dice) => ({
    _tag: "LatestOutputs",
    account: accountOf(dice),
    workflow: dice.chance(80) ? dice.below(2) : slotOf(dice, "workflows"),
    nodes: dice.below(6),
  }),
  (dice) => ({ _tag: "ListRuns", ...listing(dice, "runs"), ...filter(dice) }),
  (dice) => ({ _tag: "WalkRuns", ...walk(dice), ...filter(dice) }),
  (dice) => ({
    _tag: "Events",
    run: slotOf(dice, "runs"),
    as: somebody(dice),
    after: dice.below(6) - 1,
  }),
]

const operationOf = (dice: Dice.Dice) => dice.below(6)

const grant: Draw = (dice) => ({
  _tag: "Grant",
  account: accountOf(dice),
  operation: operationOf(dice),
  amount: dice.below(8) * 250_000,
  priority: dice.below(2),
  expires: dice.of(["never", "past", "future", "future"]),
})

const ledgerDraws: ReadonlyArray<Draw> = [
  (dice) => ({
    _tag: "Adjust",
    account: accountOf(dice),
    operation: operationOf(dice),
    amount: (dice.below(9) - 4) * 250_000,
  }),
  (dice) => ({
    _tag: "Meter",
    account: accountOf(dice),
    operation: operationOf(dice),
    isMetered: dice.chance(80),
  }),
  (dice) => ({ _tag: "Statement", account: accountOf(dice), limit: 1 + dice.below(4) }),
]

const wait: Draw = (dice) => ({ _tag: "Wait", millis: dice.of(pauses) })

/** A port's commands. The first ones bring things into being, and are drawn in every script. */
interface Port {
  readonly always: ReadonlyArray<Draw>
  readonly sometimes: ReadonlyArray<Draw>
}

const ports: ReadonlyArray<Port> = [
  { always: [insertKey], sometimes: keyDraws },
  { always: [insertWorkflow], sometimes: workflowDraws },
  { always: [begin, advance], sometimes: runDraws },
  { always: [begin, advance, grant], sometimes: ledgerDraws },
]

const often = 3

const tasteOf = (dice: Dice.Dice, { always, sometimes }: Port): ReadonlyArray<Draw> => [
  ...always.flatMap((draw) => Array.from({ length: often }, () => draw)),
  ...sometimes.flatMap((draw) => Array.from({ length: dice.of([0, 0, 1, 2]) }, () => draw)),
]

/**
 * The script of a seed. Each seed has its own taste: it is about some of the ports, and draws some
 * of their commands often and others never, which reaches states that an even mixture does not.
 */
export const scriptOf = (seed: number, length: number): ReadonlyArray<Command> => {
  const dice = Dice.make(seed)
  const focus = dice.some([...ports, ports[2]!], dice.of([1, 1, 1, 2, 3]))
  const waits = dice.chance(50) ? [wait] : []
  const draws = [...focus.flatMap((port) => tasteOf(dice, port)), ...waits]
  const prologue: ReadonlyArray<Command> = [
    { _tag: "InsertAccount", account: 0, age: 3 },
    { _tag: "InsertAccount", account: 1, age: dice.below(5) },
  ]
  const rest = Array.from({ length: length - prologue.length }, () => dice.of(draws)(dice))
  return [...prologue, ...rest]
}
