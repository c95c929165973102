// What a start says of its order among runs, over the promise interface and a clock that is moved.
import { createEngine, memory } from "millrace"
import { testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"

describe("a start with a priority", () => {
  it("hands it to its child runs and reruns, unless a rerun says another one", async () => {
    await using engine = await createEngine({ store: memory() })
    const { id: inner } = await engine.workflows.create(
      engine.workflow("Inner").node("no", "fail", { message: "no" }),
    )
    const { id: workflowId } = await engine.workflows.create(
      engine.workflow("Outer").node("call", "sub_workflow", { workflowId: inner }),
    )
    const run = await engine.runs.start({ workflowId, priority: 4 })
    expect((await run.wait()).priority).toBe(4)
    const { items } = await engine.runs.list({ parent: run.id })
    expect(items.map(({ priority }) => priority)).toEqual([4])
    const again = await engine.runs.rerun(run.id)
    expect((await again.wait()).priority).toBe(4)
    const slower = await engine.runs.rerun(run.id, { priority: -2 })
    expect((await slower.wait()).priority).toBe(-2)
  })
})

describe("a start with startAt", () => {
  it("waits for the clock, and survives a restart", async () => {
    await using engine = await testEngine({ now: "2026-03-01T00:00:00Z" })
    const { id: workflowId } = await engine.workflows.create(
      engine.workflow("Report").node("numbers", "constant", { value: 7 }),
    )
    const startAt = "2026-03-02T06:00:00.000Z"
    const { id } = await engine.runs.start({ workflowId, startAt })
    await engine.clock.advance("29 hours")
    expect(await engine.runs.get(id)).toMatchObject({ status: "QUEUED", startAt, startedAt: null })
    await engine.crash()
    await engine.restart()
    await engine.clock.advance("2 hours")
    const run = await engine.runs.get(id)
    expect(run.status).toBe("COMPLETED")
    expect(run.startedAt! >= startAt && run.startedAt! < "2026-03-02T06:00:02").toBe(true)
  })
})
