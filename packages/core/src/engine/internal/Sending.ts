/**
 * Sends messages and signals to a run: checks the message, stores it, and wakes the runner that may
 * have to continue the run. Returns the message's number, or fails with a refusal.
 *
 * Guarantees: a signal fits every node of the run's graph that is sure to take signals of its
 * name. Leaves out: nodes whose name or schema is an expression or comes by an edge; their handlers
 * judge.
 */
import { Effect } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import { graphsCached } from "../../domain/Limits.ts"
import type { TakenSignals } from "../../domain/NodeType.ts"
import { quoted } from "../../domain/Quote.ts"
import type { RunRecord } from "../../domain/Run.ts"
import { signalsOf } from "../../graph/internal/NodePlan.ts"
import type { Json } from "../../domain/Json.ts"
import type { NewMessage } from "../../domain/Message.ts"
import { problemOfMessage, problemOfSignal, signalMessage } from "../../domain/Message.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import { BoundedMap } from "../BoundedMap.ts"
import type { GraphCache } from "../GraphCache.ts"
import type { Ids } from "../Ids.ts"
import { InboxFull, InvalidMessage, RunEnded, RunNotFound } from "../Refusals.ts"
import type { Runner } from "../Runner.ts"

/** What sending needs. */
interface Sender {
  readonly runs: RunStore["Service"]
  readonly runner: Runner["Service"]
}

/** Why a message is not sent. */
export type SendRefusal = InvalidMessage | RunNotFound | RunEnded | InboxFull

/** How messages are sent. */
export const send = ({ runner, runs }: Sender) =>
  Effect.fn("Runs.send")(function* (account: AccountId, id: RunId, message: NewMessage) {
    const problem = problemOfMessage(message)
    if (problem !== undefined) return yield* new InvalidMessage({ problem })
    const sent = yield* runs.send(account, id, message)
    switch (sent._tag) {
      case "NotFound":
        return yield* new RunNotFound({ runId: id })
      case "Ended":
        return yield* new RunEnded({ runId: id, status: sent.status })
      case "Full":
        return yield* new InboxFull({ runId: id })
      case "Sent":
        if (!sent.isReplay) yield* runner.look
        return sent.number
    }
  }, Effect.uninterruptible)

/** A signal to a run: a message that a node `wait_signal` of the same name takes. */
export interface Signal {
  readonly name: string
  readonly payload: Json
  /** The same key to the same run again sends nothing. */
  readonly idempotencyKey?: string | undefined
}

/** What signals need. */
interface Signaler extends Sender {
  readonly ids: Ids["Service"]
  readonly graphs: GraphCache["Service"]
}

/** The signals that a node takes. */
interface Taker extends TakenSignals {
  readonly nodeId: string
}

/** The nodes of a run's frozen graph that are sure to take signals. */
const takersOf = (
  { graphs }: Signaler,
  { definition, run: { inputOverrides } }: RunRecord,
): ReadonlyArray<Taker> => {
  const { plans, wirings } = graphs.read(definition, inputOverrides)
  return plans.flatMap((plan, index) => {
    const taken = plan === undefined ? undefined : signalsOf(plan, wirings[index]!)
    return taken === undefined ? [] : [{ ...taken, nodeId: plan!.node.id }]
  })
}

/** Finds the nodes of a run that are sure to take signals. The graph of a run never changes. */
const makeFindTakers = (services: Signaler) => {
  const known = new BoundedMap<string, ReadonlyArray<Taker>>(graphsCached)
  return Effect.fnUntraced(function* (account: AccountId, id: RunId) {
    const key = `${account} ${id}`
    const found = known.get(key)
    if (found !== undefined) return found
    const [record] = yield* services.runs.findMany(account, [id], 0)
    if (record === undefined) return []
    const takers = takersOf(services, record)
    known.set(key, takers)
    return takers
  })
}

/** How signals are sent. */
export const signal = (services: Signaler) => {
  const sendMessage = send(services)
  const findTakers = makeFindTakers(services)
  return (account: AccountId, id: RunId, { idempotencyKey, name, payload }: Signal) =>
    Effect.gen(function* () {
      const problem = problemOfSignal(name)
      if (problem !== undefined) return yield* new InvalidMessage({ problem })
      for (const each of yield* findTakers(account, id)) {
        const clause = each.name === name ? each.problemOf(payload) : undefined
        if (clause === undefined) continue
        const misfit = `it does not fit node ${quoted(each.nodeId)}: ${clause}`
        return yield* new InvalidMessage({ problem: misfit })
      }
      const messageId = idempotencyKey ?? (yield* services.ids.make("message"))
      return yield* sendMessage(account, id, { id: messageId, name: signalMessage(name), payload })
    })
}
