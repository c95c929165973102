/**
 * A node that computes without giving the event loop back, and whose effect is a line outside of
 * the database: what must not happen twice.
 */
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { appendFileSync } from "node:fs"

const computeFor = (millis: number): void => {
  const until = Date.now() + millis
  while (Date.now() < until) Math.sqrt(until)
}

/** The node type. Its first attempt takes so long; later ones are quick. */
export const compute = (journal: string) =>
  define({
    key: "compute",
    inputs: { after: Schema.optionalKey(Schema.Finite), millis: Schema.Finite },
    outputs: { output: Schema.Finite },
    run: Effect.fnUntraced(function* ({ millis }) {
      const { attempt, nodeId, runId } = yield* CurrentNode
      computeFor(attempt === 1 ? millis : 0)
      appendFileSync(journal, `${runId} ${nodeId} ${attempt} ${process.pid}\n`)
      return { output: attempt }
    }),
  })
