/**
 * A process that a test kills: stores workflows in a file, many at once, and names each one as soon
 * as the store has said that it is stored.
 */
import * as Samples from "@millrace/conformance/Samples"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Stores } from "@millrace/sqlite"
import { Effect } from "effect"

const [file = ""] = process.argv.slice(2)

const write = Effect.gen(function* () {
  const samples = yield* Samples.make
  const store = yield* WorkflowStore
  const one = Effect.gen(function* () {
    const workflow = samples.workflow()
    yield* store.insert(workflow)
    process.stdout.write(`${workflow.accountId} ${workflow.id}\n`)
  })
  yield* Effect.forEach(Array.from({ length: 8 }), () => Effect.forever(one), {
    concurrency: "unbounded",
  })
})

await Effect.runPromise(Effect.provide(write, Stores.layer(file)))
