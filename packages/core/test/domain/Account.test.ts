// What an account may be called, how many runs of it may execute at once, and seconds for people.
import { Account, RunsAtOnce } from "@millrace/core/domain/Account"
import { describeNode, inSeconds } from "@millrace/core/domain/CalledNode"
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { accountNameLength, mostRunsAtOnce } from "@millrace/core/domain/Limits"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

describe("Account", () => {
  const account = { id: AccountId.make("acc_1"), name: "A", createdAt: 0, runsAtOnce: null }
  const is = (change: object) => Schema.is(Account)({ ...account, ...change })

  it("has a name of 1 to so many characters, and a cap or none", () => {
    assert.isTrue(is({}))
    assert.isTrue(is({ runsAtOnce: 5, name: "x".repeat(accountNameLength) }))
    for (const name of ["", "x".repeat(accountNameLength + 1), null]) assert.isFalse(is({ name }))
    assert.isFalse(is({ runsAtOnce: undefined }))
  })

  it("has no cap below 1, beyond the bound, or between two numbers", () => {
    assert.isTrue([1, mostRunsAtOnce].every(Schema.is(RunsAtOnce)))
    for (const cap of [0, -1, 1.5, mostRunsAtOnce + 1]) assert.isFalse(Schema.is(RunsAtOnce)(cap))
    assert.throws(
      () => Schema.decodeSync(RunsAtOnce)(0),
      `a whole number from 1 to ${mostRunsAtOnce}`,
    )
    assert.throws(
      () => Schema.decodeSync(Account.fields.name)(""),
      `1 to ${accountNameLength} characters`,
    )
  })
})

describe("CalledNode", () => {
  it("is told by its id, its type and its run, and times in seconds", () => {
    const node = { runId: RunId.make("run_1"), nodeId: 'a"b', nodeType: "compute" }
    assert.strictEqual(describeNode(node), 'node "a\\"b" (compute) of run run_1')
    assert.deepStrictEqual([0, 49, 950, 12_340].map(inSeconds), [
      "0.0 s",
      "0.0 s",
      "0.9 s",
      "12.3 s",
    ])
  })
})
