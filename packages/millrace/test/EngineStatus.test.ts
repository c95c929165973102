/**
 * How an engine says that it is well, and how it is told to finish.
 */
import { createEngine, defineNode, postgres } from "millrace"
import { describe, expect, it, onTestFinished } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { gate, refusal } from "./Sample.ts"

/** A node that waits for the test. */
const slowly = () => {
  const started = gate()
  const finish = gate()
  const slow = defineNode({
    type: "slow",
    inputs: {},
    outputs: {},
    run: () => {
      started.open()
      return finish.opened
    },
  })
  return { started, finish, nodes: [slow] as const }
}

const open = async () => {
  const { finish, nodes, started } = slowly()
  const engine = await createEngine({ nodes, grace: 0 })
  onTestFinished(() => engine.close())
  return { engine, finish, started, drawn: engine.workflow("Slow").node("one", "slow") }
}

const probe = (engine: Awaited<ReturnType<typeof open>>["engine"]) =>
  engine.fetch(new Request("http://app.test/readyz")).then(({ status }) => status)

describe("engine.status", () => {
  it("tells whether the engine can work, and how much it does", async () => {
    const { drawn, engine, finish, started } = await open()
    const idle = await engine.status()
    expect(idle).toMatchObject({ isReady: true, isDraining: false, runsInProgress: 0 })
    expect(idle.store.name).toBe("memory")
    expect(idle.store.millis).toBeGreaterThanOrEqual(0)
    expect([idle.warnings, typeof idle.lagMillis]).toEqual([[], "number"])
    const { id: workflowId } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId })
    await started.opened
    expect((await engine.status()).runsInProgress).toBe(1)
    finish.open()
    await run.wait()
    expect((await engine.status()).runsInProgress).toBe(0)
  })

  it("says why where the store does not answer", async () => {
    const server = await PostgresServer.create()
    const engine = await createEngine({ store: postgres(server.url), grace: 0, logger: () => {} })
    onTestFinished(() => engine.close())
    expect((await engine.status()).isReady).toBe(true)
    await server.remove()
    const { isReady, store, warnings } = await engine.status()
    expect([isReady, store]).toEqual([false, { name: "postgres", millis: null }])
    expect(warnings).toEqual([expect.stringMatching(/^The store does not answer: /)])
  }, 60_000)
})

describe("engine.drain", () => {
  it("lets what is in progress end, and starts nothing more", async () => {
    const { drawn, engine, finish, started } = await open()
    const { id: workflowId } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId })
    await started.opened
    expect(await probe(engine)).toBe(200)
    const draining = engine.drain({ within: "1 minute" })
    expect(await probe(engine)).toBe(503)
    finish.open()
    expect(await draining).toMatchObject({ isReady: false, isDraining: true, runsInProgress: 0 })
    expect((await run.wait()).nodes["one"]?.status).toBe("COMPLETED")
    const late = await engine.runs.start({ workflowId })
    expect((await engine.runs.get(late.id)).status).toBe("QUEUED")
  })

  it("waits no longer than it is told, and leaves alone what is left", async () => {
    const { drawn, engine, finish, started } = await open()
    const { id: workflowId } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId })
    await started.opened
    expect(await engine.drain({ within: 0 })).toMatchObject({ runsInProgress: 1 })
    finish.open()
    expect((await run.wait()).status).toBe("COMPLETED")
  })

  it("leaves new runs to other engines on the database", async () => {
    const server = await PostgresServer.create()
    onTestFinished(() => server.remove())
    const store = postgres(server.url)
    const one = await createEngine({ store })
    onTestFinished(() => one.close())
    const two = await createEngine({ store })
    onTestFinished(() => two.close())
    await one.drain()
    const drawn = one.workflow("One").node("a", "constant", { value: 1 })
    const { id: workflowId } = await one.workflows.create(drawn)
    const run = await one.runs.start({ workflowId })
    expect((await run.wait({ timeout: "20 seconds" })).status).toBe("COMPLETED")
  }, 60_000)

  it("refuses what is no length of time", async () => {
    const { engine } = await open()
    const soon = await refusal(engine.drain({ within: "soon" as never }))
    expect(soon.message).toBe('within: expected milliseconds, or words such as "10 seconds"')
    const unknown = await refusal(engine.drain({ wihtin: 1 } as never))
    expect(unknown.message).toBe('options: unknown field "wihtin"; did you mean "within"?')
    expect((await engine.status()).isDraining).toBe(false)
  })
})
