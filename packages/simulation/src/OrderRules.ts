/**
 * What must hold of signals to a workflow once all runs have ended: each is with one run or kept, a
 * run takes only what it waits for, no wait ends by its time while a signal for it was there, and
 * every run is of the edition that it was started with.
 */
import type { RunId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { SignalResult } from "@millrace/core/ports/RunStore"
import type { Context } from "effect"
import type { OrderScenario } from "./OrderScenario.ts"
import { brokenBooks } from "./TreeRules.ts"

/** A start, as far as it was answered for. Mutable. */
export interface StartedOrder {
  readonly key: string
  readonly order: string
  /** When it was asked for first. */
  readonly askedAt: number
  readonly limitMillis: number
  id: RunId | undefined
  isCanceled: boolean
}

/** A signal, and when the store first accepted it. Mutable. */
export interface SentOrder {
  readonly key: string
  readonly order: string
  readonly amount: number
  landedAt: number | undefined
  isAnswered: boolean
}

/** A signal to a run itself. */
export interface DirectOrder {
  readonly id: RunId
  readonly amount: number
}

/** What is known once all runs have ended. */
export interface OrderEvidence {
  readonly starts: ReadonlyArray<StartedOrder>
  readonly signals: ReadonlyArray<SentOrder>
  /** By the keys that their payloads name. */
  readonly direct: ReadonlyMap<string, DirectOrder>
  /** Until when runs were to wait, without waits that were over when they were stored. */
  readonly dues: ReadonlyMap<RunId, number>
  readonly runs: ReadonlyArray<Run>
  /** What the store says of each signal when it is sent once more. */
  readonly answers: ReadonlyArray<SignalResult>
  readonly ledger: Context.Context<LedgerStore>
}

interface Output {
  readonly payload: { readonly key: string; readonly order: string } | null
}

const payloadOf = ({ output }: Run): Output["payload"] => (output as Output | null)?.payload ?? null

const brokenRun = (
  { least }: OrderScenario,
  { direct, signals, starts }: OrderEvidence,
  run: Run,
): string | undefined => {
  const { error, id, status } = run
  const start = starts.find((each) => each.id === id)
  if (start === undefined) return `a name starts one run: ${id}`
  if (status === "CANCELED") {
    return start.isCanceled ? undefined : `only what is asked for is canceled: ${id}`
  }
  if (status !== "COMPLETED") return `a wait ends: ${id} is ${status} ${error}`
  const payload = payloadOf(run)
  if (payload === null) return undefined
  const signal = signals.find(({ key }) => key === payload.key)
  const own = direct.get(payload.key)
  const isMeant = own === undefined ? signal?.order === start.order : own.id === id
  const { amount = 0 } = own ?? signal ?? {}
  const isFit = isMeant && (least === null || amount > least)
  return isFit ? undefined : `a run takes what it waits for: ${id} ${JSON.stringify(payload)}`
}

/** Where a signal is: with the run that has taken it, with a canceled one, or kept. */
const brokenSignal = (
  { runs }: OrderEvidence,
  { key }: SentOrder,
  answer: SignalResult,
): string | undefined => {
  const takers = runs.filter((run) => payloadOf(run)?.key === key)
  if (takers.length > 1) return `a signal is taken once: ${key}`
  const [taker] = takers
  const isKnown = (answer._tag === "Kept" || answer._tag === "Taken") && answer.isReplay
  if (!isKnown) return `no signal is lost: ${key} ${answer._tag}`
  if (answer._tag === "Kept") return taker && `what is taken is gone: ${key}`
  if (taker !== undefined) {
    return taker.id === answer.runId ? undefined : `the answer says who has it: ${key}`
  }
  const holder = runs.find(({ id }) => id === answer.runId)
  return holder?.status === "CANCELED"
    ? undefined
    : `who has a signal takes it: ${key} ${holder?.id}`
}

/** No wait was ended by its time while a signal for it was kept. */
const brokenWait = (
  { least }: OrderScenario,
  { answers, direct, dues, runs, signals, starts }: OrderEvidence,
  run: Run,
): string | undefined => {
  if (run.status !== "COMPLETED" || payloadOf(run) !== null) return undefined
  const { order } = starts.find(({ id }) => id === run.id)!
  // What another run gives back may come too late: one that was canceled, or whose wait took a
  // signal to the run itself.
  const mayBeBack = runs.some(
    (other) =>
      (other.status === "CANCELED" || direct.has(payloadOf(other)?.key ?? "")) &&
      starts.some((each) => each.id === other.id && each.order === order),
  )
  if (mayBeBack) return undefined
  const missed = signals.find(
    (signal, at) =>
      answers[at]!._tag === "Kept" &&
      signal.order === order &&
      (least === null || signal.amount > least) &&
      signal.landedAt! <= (dues.get(run.id) ?? 0),
  )
  return missed === undefined
    ? undefined
    : `a wait ends by its time only without a signal: ${run.id} and ${missed.key}`
}

/** The first broken rule, with what breaks it. */
export const brokenOrderOf = (
  scenario: OrderScenario,
  evidence: OrderEvidence,
): string | undefined => {
  const { answers, ledger, runs, signals, starts } = evidence
  if (runs.length !== starts.length) return `a name starts one run: ${runs.length}`
  for (const run of runs) {
    const broken = brokenRun(scenario, evidence, run) ?? brokenWait(scenario, evidence, run)
    if (broken !== undefined) return broken
  }
  for (const [at, signal] of signals.entries()) {
    const broken = brokenSignal(evidence, signal, answers[at]!)
    if (broken !== undefined) return broken
  }
  return brokenBooks({ stores: ledger })
}
