// What metering costs: the same runs of one node, on one account, once for nothing and once at a
// price that an account which is metered has to cover. Rounds are interleaved, and which of the two
// comes first alternates.
import type { WorkflowId } from "@millrace/core/domain/Id"
import { auditAccount } from "@millrace/core/engine/Audit"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { Effect, Layer } from "effect"
import type { Samples } from "./Durable.ts"
import * as Durable from "./Durable.ts"
import * as Meter from "./Meter.ts"
import * as Workloads from "./Workloads.ts"

/** What is measured. */
export const names = ["starts, free", "starts, metered", "runs, free", "runs, metered"] as const
export type Name = (typeof names)[number]

const count = 5_000
const atOnce = 100

const fund = Effect.gen(function* () {
  const ledger = yield* LedgerStore
  const operation = { accountId: Workloads.account, actor: "bench", reason: "bench" }
  yield* ledger.meter({ ...operation, id: "metered" }, true)
  yield* ledger.grant({ ...operation, id: "plenty", amount: 1e15, priority: 0, expiresAt: null })
})

const round = Effect.fnUntraced(function* (
  samples: Samples,
  variants: ReadonlyArray<readonly ["free" | "metered", WorkflowId]>,
) {
  const { accept, complete, finished } = Workloads
  for (const [name, workflow] of variants) {
    const ids: Array<Parameters<typeof finished>[0]> = []
    const starting = Effect.map(accept(workflow, count, atOnce), (all) => ids.push(...all))
    const starts = yield* Meter.onPostgres(count, count, starting)
    Durable.note(samples, `starts, ${name}`, starts)
    yield* Effect.forEach(ids, finished, { concurrency: "unbounded", discard: true })
    const runs = yield* Meter.onPostgres(count, count, complete(workflow, count, atOnce))
    Durable.note(samples, `runs, ${name}`, runs)
  }
})

/** Measures everything so many times; the first round warms up and is thrown away. */
export const measure = (rounds: number): Promise<Samples> =>
  Effect.gen(function* () {
    yield* fund
    const free = yield* Workloads.save(Workloads.chain(1))
    const metered = yield* Workloads.save(Workloads.chain(1, "paid"))
    const variants = [
      ["free", free],
      ["metered", metered],
    ] as const
    let samples: Samples = new Map()
    for (let index = -1; index < rounds; index++) {
      if (index === 0) samples = new Map()
      yield* round(samples, index % 2 === 0 ? variants : variants.toReversed())
      process.stderr.write(index < 0 ? "warmed up\n" : `round ${index + 1} of ${rounds}\n`)
    }
    const found = yield* auditAccount(Workloads.account)
    if (found.length > 0) return yield* Effect.die(new Error(JSON.stringify(found)))
    return samples
  }).pipe(
    Effect.provide(Layer.fresh(Durable.engineOn(Durable.postgres))),
    Effect.scoped,
    Effect.runPromise,
  )
