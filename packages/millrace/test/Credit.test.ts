/**
 * Credits as an embedding application meets them: granting, metering, estimating, refusals.
 */
import { createEngine, defineNode } from "millrace"
import { describe, expect, it } from "vitest"
import { refusal } from "./Sample.ts"

const render = defineNode({
  type: "render",
  inputs: {},
  outputs: {},
  credits: 2,
  run: ({ credits }) => credits.add(1.5),
})

const operation = { actor: "shop", reason: "order 17" }

const open = async () => {
  const engine = await createEngine({ nodes: [render] })
  const { id } = await engine.workflows.create(engine.workflow("Paid").node("r", "render"))
  return { engine, workflowId: id }
}

describe("engine.credits", () => {
  it("cover what runs cost, and no more", async () => {
    const { engine, workflowId } = await open()
    await using _ = engine
    await engine.credits.meter({ ...operation, metered: true })
    await engine.credits.grant({ ...operation, id: "order-17", amount: 3 })
    await engine.credits.grant({ ...operation, id: "order-17", amount: 3 })
    const run = await (await engine.runs.start({ workflowId })).wait()
    expect([run.status, run.actualCredits]).toEqual(["COMPLETED", 1.5])
    const error = await refusal(engine.runs.start({ workflowId }))
    expect([error.code, error.message]).toEqual([
      "INSUFFICIENT_CREDITS",
      "The run requires 2 credits, and 1.5 are available",
    ])
    const { balance, grants } = await engine.credits.get()
    expect(balance).toEqual({ metered: true, posted: 1.5, reserved: 0, available: 1.5 })
    expect(grants).toMatchObject([{ id: "order-17", remaining: 1.5, ...operation }])
    const kinds = (await engine.credits.statement()).map(({ kind }) => kind)
    expect(kinds).toEqual(["void", "post", "reserve", "grant", "meter"])
  })

  it("are only recorded until the account is metered", async () => {
    const { engine, workflowId } = await open()
    await using _ = engine
    await (await engine.runs.start({ workflowId })).wait()
    await engine.credits.adjust({ ...operation, amount: -1 })
    expect((await engine.credits.get()).balance).toMatchObject({ metered: false, posted: -2.5 })
    expect(await engine.credits.statement({ limit: 1 })).toMatchObject([{ kind: "adjust" }])
  })

  it("are estimated without a start, and bounded for one", async () => {
    const { engine, workflowId } = await open()
    await using _ = engine
    expect(await engine.runs.estimate({ workflowId })).toEqual({
      problems: [],
      estimatedCredits: 2,
      nodes: [{ nodeId: "r", nodeType: "render", credits: 2 }],
    })
    const error = await refusal(engine.runs.start({ workflowId, maxCredits: 1 }))
    expect(error.code).toBe("BEYOND_MAX_CREDITS")
    expect((await engine.runs.list()).items).toEqual([])
  })

  it("refuse amounts that are none, by name", async () => {
    const { engine } = await open()
    await using _ = engine
    for (const amount of [0, -1, 0.0000001, Number.NaN, Infinity, 1e10]) {
      const error = await refusal(engine.credits.grant({ ...operation, amount }))
      expect(error.code).toBe("INVALID_REQUEST")
      expect(error.message).toMatch(/^amount: /)
    }
    expect(await engine.credits.statement()).toEqual([])
  })
})
