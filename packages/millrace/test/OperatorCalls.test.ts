/**
 * What the owner of an engine does for the whole store.
 */
import { createEngine, defineNode } from "millrace"
import { describe, expect, it } from "vitest"
import { refusal } from "./Sample.ts"

describe("engine.audit", () => {
  it("reads the ledgers of all accounts", async () => {
    await using engine = await createEngine()
    const { id } = await engine.accounts.create({ name: "Acme" })
    const operation = { actor: "shop", reason: "order 17", amount: 3 }
    await engine.account(id).credits.grant(operation)
    expect(await engine.audit()).toEqual({ accounts: 2, discrepancies: [] })
  })
})

describe("engine.quarantine", () => {
  it("lists runs that have lost processes, and knows no other one", async () => {
    await using engine = await createEngine()
    expect(await engine.quarantine.list()).toEqual([])
    const { quarantine } = engine
    expect((await refusal(quarantine.release("run_none"))).code).toBe("NOT_IN_QUARANTINE")
    expect((await refusal(quarantine.end("run_none"))).code).toBe("NOT_IN_QUARANTINE")
    expect((await refusal(quarantine.end(7 as never))).message).toBe("id: expected a string")
  })
})

describe("engine.typesInUse", () => {
  it("tells of each version what drafts, published versions and open runs have it", async () => {
    const greet = (version: number, deprecated?: string) =>
      defineNode({
        type: "greet",
        version,
        ...(deprecated === undefined ? {} : { deprecated }),
        inputs: {},
        outputs: {},
        run: () => ({}),
      })
    const nodes = [greet(1, "Use version 2."), greet(2), greet(3)]
    await using engine = await createEngine({ nodes })
    const drawn = engine.workflow("Waits").node("w", "wait_signal", { name: "go" })
    const { id } = await engine.workflows.create(drawn.node("a", "greet", {}))
    await engine.workflows.publish(id)
    await engine.workflows.addNode(id, { nodeType: "greet" })
    const run = await engine.runs.start({ workflowId: id })
    const found = async () =>
      (await engine.typesInUse())
        .filter(({ type }) => type === "greet")
        .map(({ drafts, openRuns, published, version }) => [version, drafts, published, openRuns])
    expect(await found()).toEqual([
      [1, 1, 1, 1],
      [2, 0, 0, 0],
      [3, 1, 0, 0],
    ])
    await engine.runs.cancel(run.id)
    expect((await found())[0]).toEqual([1, 1, 1, 0])
    const [first] = (await engine.typesInUse()).filter(({ type }) => type === "greet")
    expect(first).toMatchObject({
      isKnown: true,
      deprecated: "Use version 2.",
      workflows: [{ workflowId: id, workflowName: "Waits" }],
    })
  })
})

describe("engine.keys.update", () => {
  it("sets limits and label of a key", async () => {
    await using engine = await createEngine()
    const { id } = await engine.keys.create({ label: "CI" })
    const updated = await engine.keys.update(id, { label: "web", perMinute: 7 })
    expect(updated).toMatchObject({ id, label: "web", perMinute: 7, perDay: 1_000 })
    expect((await refusal(engine.keys.update("key_none", {}))).code).toBe("KEY_NOT_FOUND")
    const wrong = await refusal(engine.keys.update(id, { perMinuet: 7 } as never))
    expect(wrong.message).toBe('unknown field "perMinuet"; did you mean "perMinute"?')
  })
})

describe("RunHandle.nodes", () => {
  it("reads what has happened to each node", async () => {
    await using engine = await createEngine()
    const drawn = engine.workflow("One").node("a", "constant", { value: 1 })
    const { id: workflowId } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId })
    await run.wait()
    expect((await run.nodes())["a"]).toMatchObject({ status: "COMPLETED", output: { output: 1 } })
  })
})
