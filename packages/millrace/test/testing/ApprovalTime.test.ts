/**
 * What people can rely on about approvals as time passes and processes die.
 */
import type { TestEngine } from "millrace/testing"
import { testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { refusal } from "../Sample.ts"

/** A run that asks editors, for three days at most. */
const asked = async (engine: TestEngine<readonly []>) => {
  const { id: workflowId } = await engine.workflows.create(
    engine
      .workflow("Refund")
      .node("ask", "approval", { title: "Refund?", roles: ["editor"], timeout: "3 days" })
      .node("yes", "response", { name: "yes" })
      .node("late", "response", { name: "late" })
      .edge("ask.approved", "yes.input")
      .edge("ask.expired", "late.input"),
  )
  return engine.runs.start({ workflowId })
}

const approve = { outcome: "approved", by: "ada" } as const

describe("An approval", () => {
  it("expires, and is decided by nobody then", async () => {
    await using engine = await testEngine({})
    const run = await asked(engine)
    const { expiresAt } = await engine.approvals.get(run.id, "ask")
    await engine.clock.runToEnd()
    expect((await run.wait()).output).toEqual({ late: { outcome: "expired", at: expiresAt } })
    const late = await refusal(engine.approvals.decide(run.id, "ask", approve))
    expect(late).toMatchObject({ code: "APPROVAL_OVER", status: 409 })
    expect(late.message).toBe("The approval has expired: nobody decided in time")
    expect(await engine.approvals.get(run.id, "ask")).toMatchObject({ status: "expired" })
  })

  it("waits over a crash, and keeps a decision that came before the next one", async () => {
    await using engine = await testEngine({})
    const run = await asked(engine)
    await engine.clock.advance("2 days")
    await engine.crash()
    await engine.restart()
    const decision = await engine.approvals.decide(run.id, "ask", approve)
    await engine.crash()
    await engine.restart()
    await engine.clock.runToEnd()
    expect((await run.wait()).output).toEqual({ yes: decision })
    expect((await engine.runs.get(run.id)).nodes["ask"]).toMatchObject({ attempt: 1 })
  })
})
