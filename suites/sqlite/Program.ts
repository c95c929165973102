/**
 * An application that embeds an engine on a file of SQLite and that the suite kills. It starts runs
 * without a pause, names each one as soon as it is stored, and writes down each call of a handler.
 */
import { appendFileSync } from "node:fs"
import { Schema } from "effect"
import { createEngine, defineNode, sqlite } from "millrace"

export const length = 6

const pause = () => new Promise((resolve) => setTimeout(resolve, 5))

/** An engine on the file, whose handlers write their calls to a journal. */
export const open = (file: string, journal: string) => {
  const tick = defineNode({
    type: "tick",
    credits: 1,
    inputs: { input: Schema.optionalKey(Schema.Finite) },
    outputs: { output: Schema.Finite },
    run: async ({ inputs: { input = 0 }, nodeId, runId }) => {
      appendFileSync(journal, `${runId} ${nodeId}\n`)
      await pause()
      return { output: input + 1 }
    },
  })
  return createEngine({ store: sqlite(file), nodes: [tick] })
}

const drawing = () => {
  const names = Array.from({ length }, (_, index) => `n${index}`)
  const nodes = names.map((id, x) => ({ id, type: "tick", position: { x, y: 0 } }))
  const edges = names.slice(1).map((target, index) => {
    return { id: `e${index}`, source: names[index]!, target }
  })
  return { name: "Ticks", nodes, edges }
}

if (process.argv[2] !== undefined) {
  const [, , file = "", journal = ""] = process.argv
  const engine = await open(file, journal)
  const [known] = (await engine.workflows.list()).items
  const { id } = known ?? (await engine.workflows.create(drawing()))
  if (known === undefined) {
    await engine.credits.grant({ id: "all", amount: 1_000_000, actor: "suite", reason: "work" })
    await engine.credits.meter({ id: "on", metered: true, actor: "suite", reason: "work" })
  }
  for (;;) {
    const started = await Promise.all(
      Array.from({ length: 4 }, () => engine.runs.start({ workflowId: id })),
    )
    for (const run of started) process.stdout.write(`${run.id}\n`)
    await pause()
  }
}
