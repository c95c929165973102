/**
 * What an embedding application can rely on: starting, mounting, keys, several engines, closing.
 */
import { createEngine, defineNode, memory } from "millrace"
import { describe, expect, it, vi } from "vitest"
import { gate, refusal } from "./Sample.ts"

const nothing = defineNode({ type: "nothing", inputs: {}, outputs: {}, run: () => {} })

const get = (path: string, secret?: string) =>
  new Request(`http://localhost${path}`, {
    headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` },
  })

describe("createEngine", () => {
  it("needs nothing", async () => {
    await using engine = await createEngine()
    expect((await engine.workflows.list()).items).toEqual([])
  })

  it("rejects with one sentence when two node types have one key", async () => {
    expect((await refusal(createEngine({ nodes: [nothing, nothing] }))).message).toBe(
      'Two node types have the key "nothing" and the version 1',
    )
  })

  it("can leave the built-in types out", async () => {
    const own = defineNode({ type: "constant", inputs: {}, outputs: {}, run: () => {} })
    await using engine = await createEngine({ nodes: [own], builtin: false })
    const { id } = await engine.workflows.create(engine.workflow("Own").node("n", "constant"))
    const run = await engine.runs.start({ workflowId: id })
    expect((await run.wait()).nodes["n"]?.output).toEqual({})
  })

  it("keeps to the limits it is given", async () => {
    await using engine = await createEngine({ limits: { nodesPerWorkflow: 1 } })
    const drawn = engine.workflow("Two").node("a", "fail").node("b", "fail")
    expect((await refusal(engine.workflows.create(drawn))).code).toBe("INVALID_GRAPH")
  })

  it("prints nothing while nothing is wrong", async () => {
    const prints = (["log", "info", "warn", "error"] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => {}),
    )
    try {
      await using engine = await createEngine({ nodes: [nothing] })
      const { id } = await engine.workflows.create(engine.workflow("Quiet").node("n", "nothing"))
      await (await engine.runs.start({ workflowId: id })).wait()
      await engine.fetch(get("/api/v1/runs"))
      for (const print of prints) expect(print).not.toHaveBeenCalled()
    } finally {
      for (const print of prints) print.mockRestore()
    }
  })
})

describe("A node that blocks the event loop", () => {
  it("is named in a warning, and the engine goes on, however long it was", async () => {
    const warned = vi.spyOn(console, "error").mockImplementation(() => {})
    try {
      const busy = defineNode({
        type: "busy",
        inputs: {},
        outputs: {},
        run: () => {
          const until = Date.now() + 1_200
          while (Date.now() < until) Math.sqrt(until)
        },
      })
      await using engine = await createEngine({ nodes: [busy], limits: { blockedMillis: 1_000 } })
      const { id } = await engine.workflows.create(engine.workflow("Busy").node("n", "busy"))
      const run = await engine.runs.start({ workflowId: id })
      expect((await run.wait()).status).toBe("COMPLETED")
      const sentence =
        /The event loop was blocked for \d+\.\d s: node .+n.+ \(busy\) of run run_\S+ gave/
      await vi.waitFor(() => expect(warned.mock.calls.flat().join("\n")).toMatch(sentence), 20_000)
      expect((await (await engine.runs.start({ workflowId: id })).wait()).status).toBe("COMPLETED")
    } finally {
      warned.mockRestore()
    }
  })
})

describe("Two engines in one process", () => {
  it("share nothing, even when they were given one store descriptor", async () => {
    const store = memory()
    await using one = await createEngine({ store, nodes: [nothing] })
    await using two = await createEngine({ store })
    const { id } = await one.workflows.create(one.workflow("Mine").node("n", "nothing"))
    expect((await refusal(two.workflows.get(id))).code).toBe("WORKFLOW_NOT_FOUND")
    await two.close()
    const run = await one.runs.start({ workflowId: id })
    expect((await run.wait()).status).toBe("COMPLETED")
  })
})

describe("engine.fetch", () => {
  it("is the HTTP interface of the same workflows and runs, for holders of a key", async () => {
    await using engine = await createEngine({ nodes: [nothing] })
    const made = await engine.workflows.create(engine.workflow("Shared").node("n", "nothing"))
    const { prefix, secret } = await engine.keys.create({ label: "app" })
    expect(secret.startsWith(prefix)).toBe(true)
    const read = await engine.fetch(get(`/api/v1/workflows/${made.id}`, secret))
    expect(read.status).toBe(200)
    expect(await read.json()).toEqual(made)
    const started = await engine.fetch(
      new Request("http://localhost/api/v1/runs", {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({ workflowId: made.id }),
      }),
    )
    expect(started.status).toBe(201)
    const { runId } = (await started.json()) as { runId: string }
    expect((await engine.runs.wait(runId)).status).toBe("COMPLETED")
  })

  it("answers 401 without a key and with one that was revoked", async () => {
    await using engine = await createEngine()
    const refused = await engine.fetch(get("/api/v1/runs"))
    expect(refused.status).toBe(401)
    expect(await refused.json()).toEqual({ error: expect.any(String) })
    const { id, secret } = await engine.keys.create({ label: "short" })
    expect((await engine.fetch(get("/api/v1/runs", secret))).status).toBe(200)
    await engine.keys.revoke(id)
    expect((await engine.fetch(get("/api/v1/runs", secret))).status).toBe(401)
  })

  it("works below a base path", async () => {
    await using engine = await createEngine({ basePath: "/automation" })
    const { secret } = await engine.keys.create({ label: "app" })
    expect((await engine.fetch(get("/automation/api/v1/runs", secret))).status).toBe(200)
    expect((await engine.fetch(get("/api/v1/runs", secret))).status).toBe(404)
  })

  it("answers 503 once the engine is closed", async () => {
    const engine = await createEngine()
    await engine.close()
    const response = await engine.fetch(get("/api/v1/runs"))
    expect(response.status).toBe(503)
    expect(await response.json()).toEqual({ error: "The engine is closed" })
  })
})

describe("createEngine", () => {
  it("refuses an option and a limit that there are not, with the nearest name", async () => {
    const messageOf = async (options: object) => {
      const error = await createEngine(options as never).then(
        () => undefined,
        (refused: unknown) => refused,
      )
      expect(error).toMatchObject({ name: "MillraceError", code: "INVALID_REQUEST" })
      return (error as Error).message
    }
    expect(await messageOf({ node: [] })).toBe(
      'createEngine: unknown field "node"; did you mean "nodes"?',
    )
    expect(await messageOf({ limits: { callsAtOnce: 0, runsPerAccount: Number.NaN } })).toBe(
      "createEngine: limits: runsPerAccount: expected a whole number from 1, or Infinity; " +
        "limits: callsAtOnce: expected a whole number from 1",
    )
    expect(await messageOf({ limits: { bodyByte: 1 } })).toBe(
      'createEngine: limits: unknown field "bodyByte"; did you mean "bodyBytes"?',
    )
    await (await createEngine({ stor: undefined } as never)).close()
  })
})

describe("engine.keys", () => {
  it("takes limits and an expiry, and shows keys without their secret", async () => {
    await using engine = await createEngine()
    const expiresAt = new Date("2999-01-01T00:00:00.000Z")
    const { secret, ...key } = await engine.keys.create({
      label: "limited",
      perMinute: 5,
      perDay: 50,
      expiresAt,
    })
    expect(secret).toMatch(/^mr_/)
    expect(key).toMatchObject({ perMinute: 5, perDay: 50, expiresAt: expiresAt.toISOString() })
    expect(await engine.keys.list()).toEqual([key])
  })

  it("refuses a label twice, limits out of range and an unknown key", async () => {
    await using engine = await createEngine()
    await engine.keys.create({ label: "app" })
    expect((await refusal(engine.keys.create({ label: "APP" }))).code).toBe("LABEL_TAKEN")
    expect((await refusal(engine.keys.create({ label: " " }))).code).toBe("INVALID_KEY")
    const error = await refusal(engine.keys.create({ label: "fast", perMinute: 0 }))
    expect(error.code).toBe("INVALID_REQUEST")
    expect(error.message).toMatch(/^perMinute: /)
    expect((await refusal(engine.keys.revoke("key_x"))).code).toBe("KEY_NOT_FOUND")
  })

  it("refuses the eleventh key", async () => {
    await using engine = await createEngine()
    for (let count = 1; count <= 10; count++) await engine.keys.create({ label: `key ${count}` })
    expect((await refusal(engine.keys.create({ label: "one more" }))).code).toBe("TOO_MANY_KEYS")
  })
})

describe("engine.close", () => {
  it("rejects every call from then on, and those that were waiting", async () => {
    const started = gate()
    const aborted = gate()
    const endless = defineNode({
      type: "endless",
      inputs: {},
      outputs: {},
      run: ({ signal }) => {
        signal.addEventListener("abort", aborted.open)
        started.open()
        return new Promise<void>(() => {})
      },
    })
    const engine = await createEngine({ nodes: [endless], grace: 0 })
    const { id } = await engine.workflows.create(engine.workflow("Endless").node("n", "endless"))
    const run = await engine.runs.start({ workflowId: id })
    await started.opened
    const waiting = refusal(run.wait())
    await engine.close()
    await aborted.opened
    const closed = { code: "ENGINE_CLOSED", message: "The engine is closed" }
    expect(await waiting).toMatchObject(closed)
    expect(await refusal(engine.workflows.get(id))).toMatchObject(closed)
    expect(await refusal(engine.runs.start({ workflowId: id }))).toMatchObject(closed)
    expect(await refusal(engine.runs.list())).toMatchObject(closed)
    expect(await refusal(engine.keys.list())).toMatchObject(closed)
    expect(await refusal(run.cancel())).toMatchObject(closed)
  })

  it("lets a node in progress finish within its grace", async () => {
    const started = gate()
    const finish = gate()
    const seen: Array<boolean> = []
    const slow = defineNode({
      type: "slow",
      inputs: {},
      outputs: {},
      run: async ({ signal }) => {
        started.open()
        await finish.opened
        seen.push(signal.aborted)
      },
    })
    const engine = await createEngine({ nodes: [slow], grace: "1 minute" })
    const { id } = await engine.workflows.create(engine.workflow("Slow").node("n", "slow"))
    await engine.runs.start({ workflowId: id })
    await started.opened
    const closing = engine.close()
    finish.open()
    await closing
    expect(seen).toEqual([false])
  })

  it("can be called twice, also by a handler", async () => {
    const engine = await createEngine({
      grace: 0,
      nodes: [
        defineNode({
          type: "closer",
          inputs: {},
          outputs: {},
          run: async () => {
            await engine.close()
          },
        }),
      ],
    })
    const { id } = await engine.workflows.create({
      name: "Closer",
      nodes: [{ id: "n", type: "closer", position: { x: 0, y: 0 } }],
    })
    const run = await engine.runs.start({ workflowId: id })
    expect((await refusal(run.wait())).code).toBe("ENGINE_CLOSED")
    await engine.close()
    await engine.close()
  })
})
