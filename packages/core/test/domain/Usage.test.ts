// What an account has used: by days, workflows and keys.
import { AccountId, KeyId, WorkflowId } from "@millrace/core/domain/Id"
import { usageRows } from "@millrace/core/domain/Limits"
import type { CountedRun } from "@millrace/core/domain/Usage"
import { Day, dearest, usageOf } from "@millrace/core/domain/Usage"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"

const day = 86_400_000
const account = AccountId.make("acc_1")
const [one, two] = [WorkflowId.make("wf_1"), WorkflowId.make("wf_2")]
const key = KeyId.make("key_1")

const run = (id: string, change: Partial<CountedRun> = {}): CountedRun => ({
  id: id as CountedRun["id"],
  accountId: account,
  actualCredits: 2,
  estimatedCredits: 3,
  createdAt: day,
  keyId: null,
  workflowId: one,
  workflowName: "One",
  ...change,
})

const sums = (runs: number, estimatedCredits = runs * 3, actualCredits = runs * 2) => ({
  runs,
  estimatedCredits,
  actualCredits,
})

const query = { account, from: day, until: 3 * day }

describe("Usage.usageOf", () => {
  it("sums by day, workflow and key, with the latest name and the highest cost first", () => {
    const runs = [
      run("c", { createdAt: 2 * day, workflowName: "New", keyId: key, actualCredits: 9 }),
      run("a", { workflowName: "Old" }),
      run("b", { createdAt: 2 * day - 1, workflowId: two, workflowName: "Two" }),
    ]
    assert.deepStrictEqual(usageOf(runs, query), {
      days: [
        { day, ...sums(2) },
        { day: 2 * day, ...sums(1, 3, 9) },
      ],
      workflows: [
        { workflowId: one, workflowName: "New", ...sums(2, 6, 11) },
        { workflowId: two, workflowName: "Two", ...sums(1) },
      ],
      keys: [
        { keyId: key, ...sums(1, 3, 9) },
        { keyId: null, ...sums(2) },
      ],
    })
  })

  it("counts the runs of the account in the time that is asked for, its end left out", () => {
    const runs = [
      run("a", { accountId: AccountId.make("acc_2") }),
      run("b", { createdAt: day - 1 }),
      run("c", { createdAt: 3 * day }),
    ]
    assert.deepStrictEqual(usageOf(runs, query), { days: [], workflows: [], keys: [] })
    assert.lengthOf(usageOf([run("d", { createdAt: 3 * day - 1 })], query).days, 1)
  })

  it("says nothing of keys and other workflows where only some workflows are asked for", () => {
    const runs = [run("a"), run("b", { workflowId: two })]
    const usage = usageOf(runs, { ...query, workflows: [two] })
    assert.deepStrictEqual(usage.keys, [])
    assert.deepStrictEqual(usage.days, [{ day, ...sums(1) }])
    assert.deepStrictEqual(
      usage.workflows.map(({ workflowId }) => workflowId),
      [two],
    )
  })

  it("counts a row of several runs as so many, and takes the name of the greatest id last", () => {
    const runs = [run("b", { workflowName: "B", runs: 5 }), run("a", { workflowName: "A" })]
    const [workflow] = usageOf(runs, query).workflows
    assert.deepStrictEqual([workflow?.runs, workflow?.workflowName], [6, "B"])
  })
})

describe("Usage.dearest", () => {
  const row = (name: string | null, actualCredits: number, runs = 1) => ({
    name,
    ...sums(runs, 0, actualCredits),
  })

  it("orders by cost, then by runs, then by name, and keeps so many", () => {
    const rows = [row("b", 1), row(null, 1), row("a", 1), row("c", 1, 2), row("d", 5)]
    const names = dearest(rows, ({ name }) => name).map(({ name }) => name)
    assert.deepStrictEqual(names, ["d", "c", null, "a", "b"])
    const many = Array.from({ length: usageRows + 1 }, (_, n) => row(`x${n}`, n))
    assert.deepStrictEqual(
      dearest(many, ({ name }) => name),
      many.slice(1).toReversed(),
    )
  })
})

describe("Usage.Day", () => {
  const read = (text: string) => Option.getOrUndefined(Schema.decodeOption(Day)(text))

  it("reads and writes days of the calendar from 1970 on", () => {
    assert.strictEqual(read("1970-01-01"), 0)
    assert.strictEqual(read("2024-02-29"), Date.UTC(2024, 1, 29))
    assert.strictEqual(Schema.encodeSync(Day)(Date.UTC(2024, 1, 29) + 5), "2024-02-29")
    const bad = ["", "1969-12-31", "2023-02-29", "2024-2-9", "2024-02-29T00:00", "x2024-02-29"]
    for (const text of bad) assert.isUndefined(read(text), text)
  })
})
