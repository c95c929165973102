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

/** How a node ends its process: by a signal, or by giving the event loop no control back. */
type Way = "kill" | "block"

const block = (): never => {
  for (;;) Math.sqrt(2)
}

/** The node type: it works for a while, then its process is gone, or soon will be. */
export const poison = (journal: string) =>
  define({
    key: "poison",
    inputs: { millis: Schema.Finite, way: Schema.Literals(["kill", "block"]) },
    outputs: { output: Schema.Finite },
    run: Effect.fnUntraced(function* ({ millis, way }) {
      const { attempt, nodeId, runId } = yield* CurrentNode
      appendFileSync(journal, `${runId} ${nodeId} ${attempt} ${process.pid}\n`)
      yield* Effect.sleep(millis)
      if (way === "block") block()
      process.kill(process.pid, "SIGKILL")
      return yield* Effect.never
    }),
  })

/** Draws a workflow whose only node ends its process after so long. */
export const deadly = (name: string, millis: number, way: Way): Drawing => ({
  name,
  nodes: [
    { id: "boom", type: "poison", position: { x: 0, y: 0 }, data: { inputs: { millis, way } } },
  ],
  edges: [],
  nodeIds: ["boom"],
  output: 0,
})
