/**
 * Nodes that fail as they are told, attempt by attempt, and write down outside of the database when
 * each attempt began and how its handler ended.
 *
 * Guarantees: what a process that was killed had written down stays. Leaves out: what must follow.
 */
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Json } from "@millrace/core/domain/Json"
import { Clock, Effect, Schema } from "effect"
import { appendFileSync, readFileSync } from "node:fs"

/**
 * What one attempt does: it succeeds, fails, fails for good, fails and says how long to wait, hangs
 * until it is interrupted, or takes no notice of that for a while.
 */
export const acts = ["ok", "fail", "final", "later", "hang", "deaf"] as const
export type Act = (typeof acts)[number]

/** The wait that `later` asks for, in milliseconds. */
export const laterMillis = 150

/** Far longer than any time limit of a trial, in milliseconds. */
const hangMillis = 60_000
const deafMillis = 4_000

/** Inputs of a node, decoded. What comes after the last act is the last act again. */
interface Trial {
  readonly acts: ReadonlyArray<Act>
  readonly millis: number
}

/** What an attempt of such a node does. */
export const actOf = (plan: ReadonlyArray<Act>, attempt: number): Act =>
  plan[Math.min(attempt, plan.length) - 1] ?? "ok"

const play = Effect.fnUntraced(function* (act: Act) {
  if (act === "hang") yield* Effect.sleep(hangMillis)
  if (act === "deaf") yield* Effect.uninterruptible(Effect.sleep(deafMillis))
  if (act === "fail") return yield* new NodeError({ message: "failed as told" })
  if (act === "final") return yield* new NodeError({ message: "failed for good", retryable: false })
  if (act !== "later") return { output: 1 }
  return yield* new NodeError({ message: "busy", retryAfterMillis: laterMillis })
})

const trial = (journal: string, key: string, delivery: "at-least-once" | "at-most-once") =>
  define({
    key,
    delivery,
    inputs: {
      inputs: Schema.optionalKey(Schema.Array(Json)),
      acts: Schema.Array(Schema.Literals(acts)),
      millis: Schema.Finite,
    },
    multiple: ["inputs"],
    outputs: { output: Json },
    run: Effect.fnUntraced(function* ({ acts: plan, millis }: Trial) {
      const { attempt, nodeId, runId } = yield* CurrentNode
      const write = (what: string) =>
        Effect.map(Clock.currentTimeMillis, (at) =>
          appendFileSync(journal, `${runId} ${nodeId} ${attempt} ${process.pid} ${what} ${at}\n`),
        )
      yield* write("begin")
      yield* Effect.sleep(millis)
      return yield* play(actOf(plan, attempt)).pipe(
        Effect.tap(() => write("ok")),
        Effect.tapError(() => write("fail")),
      )
    }),
  })

/** The node types: `trial`, which may be called again after a crash, and `once`, which may not. */
export const trials = (journal: string) =>
  [trial(journal, "trial", "at-least-once"), trial(journal, "once", "at-most-once")] as const

/** Something that a handler wrote down. */
export interface Entry {
  readonly runId: string
  readonly nodeId: string
  readonly attempt: number
  readonly pid: number
  readonly what: "begin" | "ok" | "fail"
  readonly at: number
}

/** Everything that handlers wrote down, in order. */
export const readEntries = (journal: string): ReadonlyArray<Entry> =>
  readFileSync(journal, "utf8")
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => {
      const [runId = "", nodeId = "", attempt, pid, what, at] = text.split(" ")
      const entry = { runId, nodeId, attempt: Number(attempt), pid: Number(pid), at: Number(at) }
      return { ...entry, what: what as Entry["what"] }
    })
