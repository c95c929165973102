/**
 * The promise client against a real engine, over its handler.
 */
import { createEngine } from "millrace"
import type { ClientOptions, StreamedEvent } from "millrace/client"
import { MillraceError, createClient } from "millrace/client"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"

const at = { x: 0, y: 0 }

const hello = {
  name: "Hello",
  nodes: [
    { id: "say", type: "constant", position: at, data: { inputs: { value: "Hello" } } },
    { id: "answer", type: "response", position: at },
  ],
  edges: [{ id: "e1", source: "say", target: "answer" }],
}

const setUp = async (options: Partial<ClientOptions> = {}, perMinute = 10_000) => {
  const engine = await createEngine()
  const { secret } = await engine.keys.create({ label: "test", perMinute, perDay: 100_000 })
  const url = "http://millrace.test/"
  const client = createClient({ url, apiKey: secret, fetch: engine.fetch, ...options })
  return { client, engine, secret }
}

const refusal = (call: Promise<unknown>): Promise<MillraceError> =>
  call.then(
    () => expect.unreachable("it was accepted"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(MillraceError)
      return error as MillraceError
    },
  )

const collect = async <A>(all: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  for await (const one of all) found.push(one)
  return found
}

describe("millrace/client", () => {
  it("loads nothing of Effect and nothing of the engine", async () => {
    const program = `import { registerHooks } from "node:module"
      const loaded = []
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
      await import("millrace/client")
      console.log(JSON.stringify(loaded))`
    const flags = ["--conditions=@millrace/source", "--input-type=module", "--eval", program]
    const options = { cwd: import.meta.dirname }
    const { stdout } = await promisify(execFile)(process.execPath, flags, options)
    const loaded = JSON.parse(stdout) as ReadonlyArray<string>
    expect(loaded.some((url) => url.endsWith("/PromiseClient.ts"))).toBe(true)
    expect(
      loaded.filter((url) => !/packages\/(millrace|api|core\/src\/domain)\//.test(url)),
    ).toEqual([])
  })
})

describe("createClient", () => {
  it("has every operation on workflows", async () => {
    const { client, engine } = await setUp()
    await using _ = engine
    const { workflows } = client
    const made = await workflows.create(hello)
    expect(await workflows.get(made.id)).toEqual(made)
    const { etag } = await workflows.getTagged(made.id)
    const changed = await workflows.update(made.id, { name: "New" }, { ifMatch: etag })
    expect(changed.name).toBe("New")
    const outdated = await refusal(workflows.update(made.id, {}, { ifMatch: etag }))
    expect([outdated.status, outdated.code]).toEqual([412, "REVISION_MISMATCH"])
    const copy = await workflows.duplicate(made.id)
    const added = await workflows.addNode(copy.id, { nodeType: "constant", inputs: { value: 1 } })
    expect(added.inputsSet).toEqual(["value"])
    expect(await workflows.validate(made.id)).toMatchObject({ valid: true, problems: [] })
    expect((await workflows.list({ search: "copy" })).items.map(({ id }) => id)).toEqual([copy.id])
    await workflows.remove(copy.id)
    expect((await refusal(workflows.get(copy.id))).status).toBe(404)
  })

  it("starts runs once under a name, awaits them and reads them", async () => {
    const { client, engine } = await setUp()
    await using _ = engine
    const { id: workflowId } = await client.workflows.create(hello)
    const first = await client.runs.start({ workflowId }, { idempotencyKey: "order 7" })
    const again = await client.runs.start({ workflowId }, { idempotencyKey: "order 7" })
    expect([again.id, again.isReplay]).toEqual([first.id, true])
    expect(first.isReplay).toBe(false)
    const run = await first.wait()
    expect([run.status, run.output]).toEqual(["COMPLETED", "Hello"])
    expect(await client.runs.get(first.id)).toEqual(run)
    expect((await client.runs.batch([run.id, "run_none"])).map(({ id }) => id)).toEqual([run.id])
    expect((await client.runs.list({ status: "COMPLETED" })).items).toHaveLength(1)
    expect((await refusal(client.runs.cancel(run.id))).status).toBe(409)
  })

  it("still awaits a run when the server is too busy for a moment to read it", async () => {
    let refusals = 1
    const { client, engine } = await setUp()
    await using _ = engine
    const { id: workflowId } = await client.workflows.create(hello)
    const { secret: apiKey } = await engine.keys.create({ label: "other" })
    const busy = createClient({
      url: "http://millrace.test",
      apiKey,
      fetch: async (request) =>
        /runs\/[^/]+$/.test(request.url) && refusals-- > 0
          ? Response.json({ error: "The store is unavailable; try again" }, { status: 503 })
          : engine.fetch(request),
    })
    const run = await (await busy.runs.start({ workflowId })).wait()
    expect([run.status, refusals]).toEqual(["COMPLETED", -1])
  })

  it("lists node types", async () => {
    const { client, engine } = await setUp()
    await using _ = engine
    const types = await client.nodeTypes.list()
    expect(types.map(({ key }) => key)).toContain("http_request")
  })

  it("iterates over every item of a listing, and gives a page when awaited", async () => {
    const { client, engine } = await setUp()
    await using _ = engine
    for (let n = 0; n < 7; n++) await client.workflows.create({ name: `W${n}` })
    const page = await client.workflows.list({ limit: 3 })
    expect(page.items.map(({ name }) => name)).toEqual(["W6", "W5", "W4"])
    expect(page.nextCursor).not.toBeNull()
    const all = await collect(client.workflows.list({ limit: 3 }))
    expect(all.map(({ name }) => name)).toEqual(["W6", "W5", "W4", "W3", "W2", "W1", "W0"])
  })

  it("rejects with what the answer says", async () => {
    const { client, engine } = await setUp()
    await using _ = engine
    const error = await refusal(client.workflows.create({ name: "" }))
    expect(error.message).toBe("name: expected a length of at least 1")
    expect(error).toMatchObject({ status: 400, code: "INVALID_REQUEST", retryAfterSeconds: null })
    expect(error.requestId).toMatch(/^req_/)
    const stranger = createClient({ url: "http://x", apiKey: "mr_no", fetch: engine.fetch })
    expect((await refusal(stranger.runs.get("run_1"))).code).toBe("KEY_REFUSED")
    const proxy = createClient({
      url: "http://x",
      apiKey: "k",
      fetch: async () => new Response("<html>", { status: 502 }),
    })
    expect((await refusal(proxy.runs.get("run_1"))).message).toBe("The answer was 502")
  })

  it("rejects with the error of fetch where there is no answer", async () => {
    const gone = new TypeError("fetch failed")
    const client = createClient({
      url: "http://x",
      apiKey: "k",
      fetch: () => Promise.reject(gone),
    })
    await expect(client.nodeTypes.list()).rejects.toBe(gone)
  })
})

/** Answers with 429 so often, and then with an empty page. */
const busy = (times: number, retryAfter: string) => {
  let asked = 0
  return async () => {
    asked += 1
    const headers = { "retry-after": retryAfter, "x-error-code": "limit_exceeded" }
    return asked <= times
      ? Response.json({ error: "Too much" }, { status: 429, headers })
      : Response.json({ items: [], nextCursor: null })
  }
}

describe("createClient after 429", () => {
  const list = (options: Partial<ClientOptions>) => {
    const client = createClient({ url: "http://x", apiKey: "k", ...options })
    return Promise.resolve(client.runs.list())
  }

  it("comes again when the server says so", async () => {
    expect(await list({ fetch: busy(3, "0") })).toEqual({ items: [], nextCursor: null })
  })

  it("gives up after so many times, or at once when the pause is too long", async () => {
    expect((await refusal(list({ fetch: busy(4, "0") }))).status).toBe(429)
    expect((await refusal(list({ fetch: busy(1, "0"), retries: 0 }))).status).toBe(429)
    const late = await refusal(list({ fetch: busy(1, "61") }))
    expect(late.retryAfterSeconds).toBe(61)
  })
})

describe("client.runs.events", () => {
  const idsOf = (events: ReadonlyArray<StreamedEvent>) =>
    events.flatMap((each) => (each.event === "snapshot" ? [] : [each.id]))

  it("gives a snapshot and every event, and ends with the run", async () => {
    const { client, engine } = await setUp()
    await using _ = engine
    const { id: workflowId } = await client.workflows.create(hello)
    const { id: runId } = await client.runs.start({ workflowId })
    const events = await collect(client.runs.events(runId))
    expect(events[0]?.event).toBe("snapshot")
    expect(idsOf(events)).toEqual(["1", "2", "3", "4"])
    expect(events.at(-1)?.event).toBe("run.completed")
    expect(idsOf(await collect(client.runs.events(runId, { after: 2 })))).toEqual(["3", "4"])
    expect(await collect(client.runs.events(runId, { after: 4 }))).toEqual([])
    expect((await refusal(collect(client.runs.events("run_none")))).status).toBe(404)
  })

  it("goes on where a stream broke off", async () => {
    const { client: plain, engine, secret } = await setUp()
    await using _ = engine
    const { id: workflowId } = await plain.workflows.create(hello)
    const { id: runId } = await plain.runs.start({ workflowId })
    await plain.runs.wait(runId)
    let streams = 0
    /** Each stream breaks within its last event, but for the third. */
    const brittle = async (request: Request) => {
      const response = await engine.fetch(request)
      streams += 1
      if (streams > 2) return response
      const text = await response.text()
      return new Response(text.slice(0, text.indexOf(`id: ${streams * 2}`) + 20), response)
    }
    const client = createClient({ url: "http://x", apiKey: secret, fetch: brittle })
    expect(idsOf(await collect(client.runs.events(runId)))).toEqual(["1", "2", "3", "4"])
    expect(streams).toBe(3)
  })

  it("stops when its signal is aborted", async () => {
    const { client, engine } = await setUp()
    await using _ = engine
    const wait = { id: "w", type: "http_request", position: at }
    const { id: workflowId } = await client.workflows.create({ name: "W", nodes: [wait] })
    const { id: runId } = await client.runs.start({ workflowId })
    const signal = AbortSignal.abort(new Error("enough"))
    await expect(collect(client.runs.events(runId, { signal }))).rejects.toThrow("enough")
  })
})
