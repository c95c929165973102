/**
 * What every run store must do with signals to a workflow, and with the waits of runs for them.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { RunId } from "@millrace/core/domain/Id"
import { signalsPerWorkflow } from "@millrace/core/domain/Limits"
import type { Run } from "@millrace/core/domain/Run"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { NewWorkflowSignal, SignalWait } from "@millrace/core/domain/WorkflowSignal"
import { isCorrelated, signalOf } from "@millrace/core/domain/WorkflowSignal"
import type { WaitsChanged } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"
import * as Scenes from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore | WorkflowStore>

const waitFor = (correlation: string, change?: Partial<SignalWait>): SignalWait => ({
  name: "paid",
  correlation,
  filter: null,
  until: Scenes.never,
  ...change,
})

const signalTo = (
  correlation: string,
  id: string,
  change?: Partial<NewWorkflowSignal>,
): NewWorkflowSignal => ({
  name: "paid",
  correlation,
  id,
  isNamed: true,
  payload: { from: id },
  ...change,
})

/** Samples, and a workflow of their account. */
const scene = Effect.gen(function* () {
  const samples = yield* Scenes.quiet
  const workflow = samples.workflow()
  yield* WorkflowStore.use((store) => store.insert(workflow))
  return { samples, workflow }
})

const send = ({ accountId, id }: Workflow, signal: NewWorkflowSignal) =>
  RunStore.use((store) => store.signal(accountId, id, signal))

/** Commits the waits of a run, and parks it. */
const wait = Effect.fnUntraced(function* (run: Run, signals: WaitsChanged) {
  const store = yield* RunStore
  const next = Samples.step(run, { dueAt: Scenes.never, owner: null }, { signals })
  yield* store.commit(next)
  return next.run
})

/** A parked run of the workflow that waits for these. */
const waiting = Effect.fnUntraced(function* (
  samples: Samples.Samples,
  workflow: Workflow,
  ...waits: ReadonlyArray<SignalWait>
) {
  const run = yield* Scenes.owned(samples, { workflowId: workflow.id })
  return yield* wait(run, { waits, before: [] })
})

/** The ids of the signals in a run's inbox that no node has taken. */
const inboxOf = Effect.fnUntraced(function* ({ id: runId }: Run) {
  const store = yield* RunStore
  const inboxes = yield* store.inboxes([{ runId, after: 0, held: [] }])
  return inboxes.flatMap(({ messages }) =>
    messages.filter(isCorrelated).map(({ payload }) => payload),
  )
})

const from = (...ids: ReadonlyArray<string>) => ids.map((id) => ({ from: id }))
const taken = ({ id: runId }: { readonly id: RunId }, isReplay = false) => ({
  _tag: "Taken" as const,
  runId,
  isReplay,
})
const kept = { _tag: "Kept", isReplay: false } as const

const finding = (it: Tests): void => {
  it.effect("gives a signal to the run that has waited longest, once, and wakes it", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const other = yield* waiting(
        samples,
        workflow,
        waitFor("18"),
        waitFor("17", { name: "sent" }),
      )
      const first = yield* waiting(samples, workflow, waitFor("17"))
      const second = yield* waiting(samples, workflow, waitFor("17"))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "a")), taken(first))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "b")), taken(second))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "c")), kept)
      assert.deepStrictEqual(yield* inboxOf(first), from("a"))
      assert.deepStrictEqual(yield* inboxOf(second), from("b"))
      assert.deepStrictEqual(yield* inboxOf(other), [])
      const woken = yield* Scenes.claim(samples.runner(), 9)
      assert.sameMembers(
        woken.map(({ run }) => run.id),
        [first.id, second.id],
      )
    }),
  )

  it.effect("keeps what comes early, and gives it to the first commit that waits, in order", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const hard = { payload: { ...Samples.hardJson }, isNamed: false }
      const odd = "\u0000 \ud800 %_\\"
      assert.deepStrictEqual(yield* send(workflow, signalTo(odd, odd, hard)), kept)
      assert.deepStrictEqual(yield* send(workflow, signalTo(odd, "b", { isNamed: false })), kept)
      const first = yield* waiting(samples, workflow, waitFor(odd))
      const store = yield* RunStore
      const [inbox] = yield* store.inboxes([{ runId: first.id, after: 0, held: [] }])
      const message = { ...inbox!.messages[0]!, id: `once:${JSON.stringify(odd)}` }
      assert.deepStrictEqual(signalOf(message), signalTo(odd, odd, hard))
      const woken = yield* Scenes.claim(samples.runner(), 9)
      assert.deepStrictEqual(
        woken.map(({ run }) => run.id),
        [first.id],
      )
      const both = yield* waiting(samples, workflow, waitFor(odd), waitFor(odd))
      assert.deepStrictEqual(yield* inboxOf(both), from("b"))
      assert.deepStrictEqual(yield* send(workflow, signalTo(odd, "c")), taken(both))
    }),
  )
}

const filtering = (it: Tests): void => {
  it.effect("leaves a signal that does not pass the filter of a wait to another one", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const ofKind = (value: string) => ({ filter: { path: "kind", op: "equals", value } })
      const kind = (value: string) => ({ payload: { kind: value } })
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "a", kind("card"))), kept)
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "b", kind("\u0000"))), kept)
      const odd = yield* waiting(samples, workflow, waitFor("17", ofKind("\u0000")))
      assert.deepStrictEqual(yield* inboxOf(odd), [{ kind: "\u0000" }])
      const cash = yield* waiting(samples, workflow, waitFor("17", ofKind("cash")))
      const card = yield* waiting(samples, workflow, waitFor("17", ofKind("card")))
      assert.deepStrictEqual(yield* inboxOf(cash), [])
      assert.deepStrictEqual(yield* inboxOf(card), [{ kind: "card" }])
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "c", kind("card"))), kept)
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "d", kind("cash"))), taken(cash))
    }),
  )

  it.effect("passes no signal to a wait that is over", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      yield* waiting(samples, workflow, waitFor("17", { until: Scenes.longAgo }))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "a")), kept)
    }),
  )
}

const once = (it: Tests): void => {
  it.effect("gives each signal to one run, whatever comes first, under any race", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const runs = yield* Effect.forEach(Array.from({ length: 40 }), () =>
        Scenes.owned(samples, { workflowId: workflow.id }),
      )
      const [sent, waits] = yield* Effect.all(
        [
          Effect.forEach(
            Array.from({ length: 40 }, (_, n) => `${n}`),
            (id) => send(workflow, signalTo(`${Number(id) % 3}`, id, { isNamed: false })),
            { concurrency: "unbounded" },
          ),
          Effect.forEach(
            runs,
            (run, n) => wait(run, { waits: [waitFor(`${n % 3}`)], before: [] }),
            { concurrency: "unbounded" },
          ),
        ],
        { concurrency: "unbounded" },
      )
      const inboxes = yield* Effect.forEach(waits, inboxOf)
      const ids = inboxes.flat().map((payload) => (payload as { from: string }).from)
      assert.isTrue(inboxes.every(({ length }) => length === 1))
      assert.strictEqual(new Set(ids).size, 40)
      for (const [n, result] of sent.entries()) {
        if (result._tag !== "Taken") continue
        const place = waits.findIndex(({ id }) => id === result.runId)
        assert.deepStrictEqual(inboxes[place], from(`${n}`))
      }
    }),
  )
}

const repeating = (it: Tests): void => {
  it.effect("stores a signal of one id once, and says which run has it by now", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const again = { _tag: "Kept", isReplay: true } as const
      const all = yield* Effect.forEach(
        Array.from({ length: 20 }, () => signalTo("17", "a")),
        (signal) => send(workflow, signal),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(all.filter((sent) => sent._tag === "Kept" && !sent.isReplay).length, 1)
      assert.deepStrictEqual(yield* send(workflow, signalTo("18", "a", { payload: 1 })), again)
      const run = yield* waiting(samples, workflow, waitFor("17"))
      assert.deepStrictEqual(yield* inboxOf(run), from("a"))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "a")), taken(run, true))
      const late = yield* waiting(samples, workflow, waitFor("17"))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "b")), taken(late))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "b")), taken(late, true))
      assert.deepStrictEqual(yield* inboxOf(late), from("b"))
    }),
  )

  it.effect("keeps so many signals of a workflow, and no more until one is taken", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const all = yield* Effect.forEach(
        Array.from({ length: signalsPerWorkflow + 5 }, (_, n) => `${n}`),
        (id) => send(workflow, signalTo(id, id, { isNamed: false })),
        { concurrency: 20 },
      )
      assert.strictEqual(all.filter(({ _tag }) => _tag === "Full").length, 5)
      const first = all.findIndex(({ _tag }) => _tag === "Kept")
      yield* waiting(samples, workflow, waitFor(`${first}`))
      assert.deepStrictEqual(yield* send(workflow, signalTo("more", "more")), kept)
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "x")), { _tag: "Full" })
      const late = yield* waiting(samples, workflow, waitFor("too late"))
      assert.deepStrictEqual(yield* send(workflow, signalTo("too late", "y")), taken(late))
    }),
  )
}

const passing = (it: Tests): void => {
  it.effect("gives on what no node has taken when the waits change, or the run ends", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const store = yield* RunStore
      const waits = [waitFor("17"), waitFor("17"), waitFor("17")]
      const run = yield* waiting(samples, workflow, ...waits)
      for (const id of ["a", "b", "c"]) {
        assert.deepStrictEqual(yield* send(workflow, signalTo("17", id)), taken(run))
      }
      const other = yield* waiting(samples, workflow, waitFor("17"))
      const woken = yield* Scenes.runOf(run)
      const next = Samples.step(
        woken,
        { status: "CANCELED" },
        { taken: [{ number: 1, nodeId: "a" }], signals: { waits: [], before: waits } },
      )
      yield* store.commit(next)
      assert.deepStrictEqual(yield* inboxOf(run), [])
      assert.deepStrictEqual(yield* inboxOf(other), from("b"))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "a")), taken(run, true))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "b")), taken(other, true))
      const last = yield* waiting(samples, workflow, waitFor("17"))
      assert.deepStrictEqual(yield* inboxOf(last), from("c"))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "d")), kept)
    }),
  )

  it.effect("changes no wait and takes no signal with a commit that is stale", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const run = yield* Scenes.owned(samples, { workflowId: workflow.id })
      yield* send(workflow, signalTo("17", "a"))
      const stale = yield* Effect.flip(
        wait({ ...run, revision: 9 }, { waits: [waitFor("17")], before: [] }),
      )
      assert.strictEqual(stale._tag, "StaleRun")
      assert.deepStrictEqual(yield* inboxOf(run), [])
      const other = yield* waiting(samples, workflow, waitFor("17"))
      assert.deepStrictEqual(yield* inboxOf(other), from("a"))
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "b")), kept)
    }),
  )

  it.effect("knows no workflow of another account, nor one that is gone", () =>
    Effect.gen(function* () {
      const { samples, workflow } = yield* scene
      const store = yield* RunStore
      const workflows = yield* WorkflowStore
      const run = yield* waiting(samples, workflow, waitFor("17"))
      const unknown = { _tag: "NotFound" } as const
      const foreign = yield* store.signal(samples.stranger, workflow.id, signalTo("17", "a"))
      assert.deepStrictEqual(foreign, unknown)
      yield* send(workflow, signalTo("18", "b"))
      yield* workflows.remove(workflow.accountId, workflow.id)
      assert.deepStrictEqual(yield* send(workflow, signalTo("17", "a")), unknown)
      assert.deepStrictEqual(yield* inboxOf(run), [])
      const change = { waits: [waitFor("18")], before: [waitFor("17")] }
      const woken = yield* store.takeOver(run.accountId, run.id, samples.runner())
      const next = yield* wait(woken.pipe(Option.getOrThrow).run, change)
      assert.deepStrictEqual(yield* inboxOf(next), [])
    }),
  )
}

/** Registers the suite. */
export const signalSuite = (it: Tests): void => {
  describe("RunStore.signal", () => {
    finding(it)
    filtering(it)
    once(it)
    repeating(it)
    passing(it)
  })
}
