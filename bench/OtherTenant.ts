// What one account's hostile expressions cost another account: the time from a start to the end of
// the run, in one process with the defaults, on the store in memory.
import { AccountId } from "@millrace/core/domain/Id"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import * as Host from "@millrace/host/Host"
import * as Stores from "@millrace/memory/Stores"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import { Effect } from "effect"

const hostile = AccountId.make("acc_hostile")
const other = AccountId.make("acc_other")

/** Loops of JavaScript, native loops, which ask nobody, memory, and a regular expression. */
const attacks = [
  "{{ (() => { while (true) {} })() }}",
  "{{ [].indexOf.call({ length: 2 ** 53 - 1 }, 1) }}",
  "{{ new Array(2 ** 30).join('') }}",
  "{{ 'a'.repeat(2 ** 29).length }}",
  `{{ /(a+)+$/.test("${"a".repeat(40)}!") }}`,
]

const hostileAtOnce = 20
const timed = 300

const drawn = (values: ReadonlyArray<string>) => ({
  name: "Bench",
  description: null,
  thumbnailUrl: null,
  nodes: values.map((value, n) => ({
    id: `node_${n}`,
    type: "constant",
    position: { x: n, y: 0 },
    data: { inputs: { value } },
  })),
  edges: [],
})

const runOf = Effect.fnUntraced(function* (account: AccountId, value: string) {
  const runs = yield* Runs
  const { id: workflowId } = yield* (yield* Workflows).create(account, drawn([value]))
  return Effect.flatMap(runs.start(account, { workflowId }), ({ id }) => runs.wait(account, id))
})

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * share)]!

const timesOf = Effect.fnUntraced(function* (value: string) {
  const run = yield* runOf(other, value)
  const times: Array<number> = []
  for (let n = -20; n < timed; n++) {
    const begun = performance.now()
    const { run: ended } = yield* run
    if (ended.status !== "COMPLETED") return yield* Effect.die(new Error(`${ended.error}`))
    if (n >= 0) times.push(performance.now() - begun)
  }
  return times
})

/** Runs of an account without expressions and with one, alone and beside the attacks. */
const all = Effect.gen(function* () {
  const kinds = { "without expressions": "text", "with an expression": "{{ 6 * 7 }}" }
  const rows: Array<Record<string, string | number>> = []
  const measureAll = Effect.fnUntraced(function* (beside: string) {
    for (const [kind, value] of Object.entries(kinds)) {
      const times = yield* timesOf(value)
      const [p50, p99] = [0.5, 0.99].map((share) => Number(percentile(times, share).toFixed(1)))
      rows.push({ "a run": kind, beside, "p50 ms": p50!, "p99 ms": p99! })
    }
  })
  yield* measureAll("nothing")
  const runs = yield* Effect.forEach(attacks, (text) => runOf(hostile, text))
  const attacking = Effect.forEach(
    Array.from({ length: hostileAtOnce }, (_, n) => runs[n % runs.length]!),
    (run) => Effect.forever(run),
    { concurrency: "unbounded", discard: true },
  )
  yield* Effect.raceFirst(attacking, measureAll("hostile expressions"))
  return rows
})

const engine = Host.layer({
  stores: Stores.layer,
  nodes: Builtin.layer,
  egress: Outbound.layer(),
  webhooks: "this engine delivers nothing",
})

/** Milliseconds of runs of one account, alone and beside another one's attacks. */
export const measureOther = () => Effect.runPromise(Effect.provide(all, engine))
