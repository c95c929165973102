/**
 * Plays a script on the model and on a store, step by step, and tells the first step after which
 * one can tell them apart.
 *
 * Guarantees: a play sees nothing of what earlier plays left in the same database. Leaves out: the
 * choice of scripts.
 */
import type { RunRecord } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Cause, Clock, Effect, Exit } from "effect"
import * as Cast from "./ModelCast.ts"
import type { Command } from "./ModelCommands.ts"
import * as Difference from "./ModelDifference.ts"
import { type Act, actOf, type Refusal, type Scene } from "./ModelStep.ts"
import * as View from "./ModelView.ts"
import { clear } from "@millrace/conformance/RunScenes"
import * as StoreModel from "./StoreModel.ts"

/** What a play needs to know of the store's clock. */
export interface StoreClock {
  /** Moves the clock, where it can be moved. */
  readonly wait: (millis: number) => Effect.Effect<void>
  /** How far the store's clock and the test's may be apart. */
  readonly slackMillis: number
}

/** Where a store and the model differ. */
export interface Verdict {
  readonly step: number
  readonly command: Command
  readonly difference: string
}

/** After so many steps everything is looked at, not only what the last step touched. */
const stepsPerWholeView = 15

interface Answer {
  /** What is compared. */
  readonly value: unknown
  /** What went wrong, for whoever reads of a difference. */
  readonly remark: string | undefined
}

const refused = (cause: Cause.Cause<Refusal>): Answer => {
  const error = Cause.squash(cause)
  if (!isRefusal(error)) return { value: { died: true }, remark: Cause.pretty(cause) }
  const { _tag, message } = error
  return _tag === "StorageError"
    ? { value: { refused: _tag }, remark: message }
    : { value: { refused: _tag, message }, remark: undefined }
}

const isRefusal = (error: unknown): error is Refusal => error instanceof Error && "_tag" in error

/** The answer as data, be it a success, a refusal or a defect. */
const answerOf = (act: Act, stores: StoreModel.Stores): Effect.Effect<Answer> =>
  Effect.map(
    Effect.exit(Effect.suspend(() => act(stores))),
    Exit.match({ onSuccess: (value) => ({ value, remark: undefined }), onFailure: refused }),
  )

/** Lets the model make the choices of the store that a port leaves to it. */
const adopt = ({ model }: Scene, command: Command, { value }: Answer): void => {
  if (command._tag !== "Claim" || !Array.isArray(value)) return
  const records: ReadonlyArray<RunRecord> = value
  model.runs.favor(records.map(({ run }) => run.id))
}

/** Compares what both answer to the same steps. */
const compare = Effect.fnUntraced(function* (
  scene: Scene,
  store: StoreModel.Stores,
  slackMillis: number,
  command: Command,
  act: Act,
) {
  const theirs = yield* answerOf(act, store)
  adopt(scene, command, theirs)
  const ours = yield* answerOf(act, scene.model.stores)
  const difference = Difference.between(ours.value, theirs.value, slackMillis)
  const remark = theirs.remark === undefined ? "" : ` (${theirs.remark})`
  return difference === undefined ? undefined : difference + remark
})

/** What can be seen of a command's effects; a gap in the numbers of events is an answer, too. */
const viewAct =
  (scene: Scene, command: Command, isWhole: boolean): Act =>
  (stores) =>
    Effect.map(
      isWhole ? View.whole(stores, scene) : View.part(stores, scene, View.touchedBy(command)),
      (view) => ({
        ...view,
        gap: View.gapIn(view.runs) ?? "none",
        // Not left to the model: what does not add up there would be no difference.
        isSound:
          stores === scene.model.stores ||
          view.credits.every(({ discrepancies }) => discrepancies.length === 0),
      }),
    )

/** Plays a script; `undefined` when nobody can tell the store from the model. */
export const play = Effect.fnUntraced(function* (
  script: ReadonlyArray<Command>,
  { slackMillis, wait }: StoreClock,
) {
  const cast = yield* Cast.make
  const model = StoreModel.make()
  const store = yield* StoreModel.current
  yield* Effect.orDie(Effect.provideService(clear(cast.keeper), RunStore, store.runs))
  for (const [step, command] of script.entries()) {
    if (command._tag === "Wait") {
      yield* wait(command.millis)
      continue
    }
    const scene: Scene = { cast, model, now: yield* Clock.currentTimeMillis }
    const isWhole = step === script.length - 1 || step % stepsPerWholeView === 0
    const difference =
      (yield* compare(scene, store, slackMillis, command, actOf(scene, command))) ??
      (yield* compare(scene, store, slackMillis, command, viewAct(scene, command, isWhole)))
    if (difference === undefined) continue
    const verdict: Verdict = {
      step,
      command,
      difference: difference.replaceAll(cast.scope, "~"),
    }
    return verdict
  }
  return undefined
})
