/**
 * Starts over several engines on one database.
 *
 * Guarantees: of one start that is repeated many times at once under one name, there are credits
 * for one run only, so that whoever reserves twice is found out.
 */
import { Samples } from "@millrace/conformance"
import type { AccountId } from "@millrace/core/domain/Id"
import { auditAccount } from "@millrace/core/engine/Audit"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Effect, Layer, type Redacted } from "effect"

const paid = define({
  key: "paid",
  inputs: {},
  outputs: {},
  credits: 1,
  run: () => Effect.succeed({}),
})

/** An engine with a node type that costs a credit, until the scope closes. */
export const engine = (url: Redacted.Redacted) =>
  Layer.build(
    Layer.fresh(
      Engine.layerWithoutWebhooks.pipe(
        Layer.provide(NodeTypes.layer(paid)),
        Layer.provideMerge(Layer.provide(Stores.layer, Postgres.layer({ url, maxConnections: 4 }))),
      ),
    ),
  )

const fund = Effect.fnUntraced(function* (accountId: AccountId) {
  const ledger = yield* LedgerStore
  const operation = { accountId, actor: "ada", reason: "because" }
  yield* ledger.meter({ ...operation, id: "m" }, true)
  yield* ledger.grant({ ...operation, id: "g", amount: 1_000_000, priority: 0, expiresAt: null })
})

const draw = Effect.fnUntraced(function* (account: AccountId) {
  const workflows = yield* Workflows
  const nodes = [{ id: "a", type: "paid", position: { x: 0, y: 0 } }]
  const content = { name: "Paid", description: null, thumbnailUrl: null, nodes, edges: [] }
  return (yield* workflows.create(account, content)).id
})

/** Repeats one start so many times on so many engines. */
export const replays = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  { count, engines }: { readonly count: number; readonly engines: number },
) {
  const all = yield* Effect.forEach(Array.from({ length: engines }), () => engine(url))
  const { account } = yield* Samples.make
  const [first] = all
  const within = Effect.provideContext(first!)
  yield* within(fund(account))
  const workflowId = yield* within(draw(account))
  const idempotencyKey = { key: "order 17", bodyHash: "hash" }
  const answers = yield* Effect.forEach(
    Array.from({ length: count }, (_, index) => all[index % engines]!),
    (one) => Context.get(one, Runs).startOnce(account, { workflowId }, idempotencyKey),
    { concurrency: "unbounded" },
  )
  yield* Context.get(first!, Runs).wait(account, answers[0]!.runId)
  const entries = yield* Context.get(first!, LedgerStore).statement({ account, limit: 100 })
  return {
    runs: new Set(answers.map(({ runId }) => runId)).size,
    first: answers.filter(({ isReplay }) => !isReplay).length,
    kinds: entries.map(({ kind }) => kind).join(" "),
    problems: yield* within(auditAccount(account)),
  }
})
