// Nodes that cost something, accounts that are metered, and their books, for the tests of credits.
import { toNumber } from "@millrace/core/domain/Credits"
import type { NumberedEntry } from "@millrace/core/domain/Ledger"
import { nodeOf } from "@millrace/core/domain/Ledger"
import type { RunRecord } from "@millrace/core/domain/Run"
import { auditAccount } from "@millrace/core/engine/Audit"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Json } from "@millrace/core/domain/Json"
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { account, engine, Gates, node, types } from "./TestEngine.ts"

/** Costs what its literals say: `price` as its estimate, `charges` as it goes. */
export const spend = define({
  key: "spend",
  inputs: {
    input: Schema.optionalKey(Json),
    price: Schema.optionalKey(Schema.Number),
    charges: Schema.optionalKey(Schema.Array(Schema.Number)),
    fails: Schema.optionalKey(Schema.Boolean),
    holds: Schema.optionalKey(Schema.Boolean),
  },
  outputs: { output: Schema.optionalKey(Json) },
  credits: (literals) => (typeof literals["price"] === "number" ? literals["price"] : 0),
  run: Effect.fnUntraced(function* ({ charges = [], fails = false, holds = false, input = null }) {
    const { charge, nodeId } = yield* CurrentNode
    for (const each of charges) yield* charge(each)
    if (holds) yield* Effect.flatMap(Gates, (gates) => gates.pass(nodeId))
    return fails ? yield* new NodeError({ message: "no luck" }) : { output: input }
  }),
})

/** Charges what no credits are. */
export const bogus = define({
  key: "bogus",
  inputs: { charge: Schema.String },
  outputs: {},
  run: Effect.fnUntraced(function* ({ charge }) {
    const current = yield* CurrentNode
    yield* current.charge(Number(charge))
    return {}
  }),
})

export const known: ReadonlyArray<Executable<Gates>> = [...types, spend, bogus]
export const at = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.provide(engine(known)))

export const spends = (id: string, price: number, more: { readonly [input: string]: Json } = {}) =>
  node(id, "spend", { price, ...more })

/** Makes the account metered, with so many credits. */
export const fund = Effect.fnUntraced(function* (credits: number) {
  const ledger = yield* LedgerStore
  const operation = { accountId: account, actor: "ada", reason: "test" }
  yield* ledger.meter({ ...operation, id: "m" }, true)
  yield* ledger.grant({
    ...operation,
    id: "g",
    amount: credits * 1e6,
    priority: 0,
    expiresAt: null,
  })
})

/** `reserve 3`, `post a 2`: what became of the account by its runs, in order. */
const told = ({ kind, part, posted, reserved }: NumberedEntry): string => {
  const about = nodeOf({ kind, part })
  const amount = kind === "post" ? 0 - posted : Math.abs(reserved)
  return [kind, ...(about === null ? [] : [about]), toNumber(amount)].join(" ")
}

export const book = Effect.gen(function* () {
  const ledger = yield* LedgerStore
  const { account: found } = yield* ledger.find(account)
  const entries = yield* ledger.statement({ account, limit: 1_000 })
  assert.deepStrictEqual(yield* auditAccount(account), [])
  return {
    posted: toNumber(found.posted),
    reserved: toNumber(found.reserved),
    told: entries
      .filter(({ runId }) => runId !== null)
      .toReversed()
      .map(told),
  }
})

export const found = (id: RunRecord["run"]["id"]) =>
  Effect.flatMap(RunStore, (store) => Effect.flatMap(store.find(account, id), Effect.fromOption))
