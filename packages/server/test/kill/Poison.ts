/**
 * Nodes that end the process that executes them: at once, or by blocking it.
 *
 * Guarantees: each of their attempts is in the journal before. Leaves out: starting the process
 * again.
 */
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { appendFileSync } from "node:fs"
import type { Drawing } from "./Work.ts"

/** The node type: it works for a while, then its process is gone. */
export const poison = (journal: string) =>
  define({
    key: "poison",
    inputs: { millis: Schema.Finite },
    outputs: { output: Schema.Finite },
    run: Effect.fnUntraced(function* ({ millis }: { readonly millis: number }) {
      const { attempt, nodeId, runId } = yield* CurrentNode
      appendFileSync(journal, `${runId} ${nodeId} ${attempt} ${process.pid}\n`)
      yield* Effect.sleep(millis)
      process.kill(process.pid, "SIGKILL")
      return yield* Effect.never
    }),
  })

/** Draws a workflow whose only node ends its process after so long. */
export const deadly = (name: string, millis: number): Drawing => ({
  name,
  nodes: [{ id: "boom", type: "poison", position: { x: 0, y: 0 }, data: { inputs: { millis } } }],
  edges: [],
  nodeIds: ["boom"],
  output: 0,
})
