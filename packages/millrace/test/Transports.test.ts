/**
 * One interface, two transports: an engine called directly and the same engine over HTTP answer
 * the same, refuse the same, and have every operation.
 */
import { Api } from "@millrace/api/Api"
import type { Client, Engine } from "millrace"
import { createEngine, MillraceError } from "millrace"
import { createClient } from "millrace/client"
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest"

const at = { x: 0, y: 0 }

const hello = {
  name: "Hello",
  nodes: [
    { id: "say", type: "constant", position: at, data: { inputs: { value: { deep: [1, null] } } } },
    { id: "answer", type: "response", position: at },
  ],
  edges: [{ id: "e1", source: "say", target: "answer" }],
}

let engine: Engine
let remote: Client
let workflowId: string
let runId: string
let triggerId: string

beforeAll(async () => {
  engine = await createEngine()
  const { secret } = await engine.keys.create({ label: "a", perMinute: 10_000, perDay: 100_000 })
  remote = createClient({ url: "http://millrace.test", apiKey: secret, fetch: engine.fetch })
  workflowId = (await engine.workflows.create(hello)).id
  runId = (await (await engine.runs.start({ workflowId })).wait()).id
  const daily = { type: "schedule", cron: "0 9 * * *", enabled: false } as const
  triggerId = (await engine.triggers.create(workflowId, daily)).id
})

afterAll(() => engine.close())

/** What a call gives, or all that its error says. */
const outcome = async (call: () => unknown): Promise<unknown> => {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    const { code, message, problems, retryAfterSeconds, status } = error
    return { code, message, problems, retryAfterSeconds, status }
  }
}

/** What is drawn anew for each start or creation, the same for all. */
const steady = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, each: unknown) => (typeof each === "function" ? "f" : each))
      .replaceAll(/"(wf|run|exe|trg)_[^"]+"/g, '"$1"')
      .replaceAll(/"\d{4}-\d\d-\d\dT[^"]+"/g, '"time"'),
  )

const both = async (call: (client: Client) => unknown) =>
  [await outcome(() => call(engine)), await outcome(() => call(remote))] as const

const collect = async (all: AsyncIterable<unknown>): Promise<ReadonlyArray<unknown>> => {
  const found: Array<unknown> = []
  for await (const one of all) found.push(one)
  return found
}

const first = async (all: AsyncIterable<unknown>): Promise<unknown> => {
  for await (const one of all) return one
  return undefined
}

const any = (value: unknown) => value as never

const reads: Readonly<Record<string, (client: Client) => unknown>> = {
  "workflows.get": ({ workflows }) => workflows.get(workflowId),
  "workflows.getTagged": ({ workflows }) => workflows.getTagged(workflowId),
  "workflows.list": ({ workflows }) => workflows.list({ search: "ell", limit: 5 }),
  "workflows.list by number": ({ workflows }) => workflows.list({ page: 1, pageSize: 1 }),
  "workflows.validate": ({ workflows }) => workflows.validate(workflowId),
  "workflows.evaluate": ({ workflows }) =>
    workflows.evaluate(workflowId, { runId, nodeId: "say", text: "{{ run.id }}" }),
  "workflows.versions": ({ workflows }) => workflows.versions(workflowId),
  "triggers.list": ({ triggers }) => triggers.list(workflowId),
  "triggers.get": ({ triggers }) => triggers.get(workflowId, triggerId),
  "runs.list of a trigger": ({ runs }) => runs.list({ triggerId }),
  "runs.get": ({ runs }) => runs.get(runId),
  "runs.get as a summary": ({ runs }) => runs.get(runId, { view: "summary" }),
  "runs.node": ({ runs }) => runs.node(runId, "say"),
  "runs.items": ({ runs }) => runs.items(runId, "say"),
  "runs.definition": ({ runs }) => runs.definition(runId),
  "runs.wait": ({ runs }) => runs.wait(runId, { timeout: "1 minute" }),
  "runs.list": ({ runs }) => runs.list({ status: "COMPLETED", workflowId }),
  "runs.list between two times": ({ runs }) =>
    runs.list({ from: "2026-01-01T00:00:00Z", to: "2100-01-01T00:00Z" }),
  "runs.batch": ({ runs }) => runs.batch([runId, "run_none", runId]),
  "runs.rerunFailed": ({ runs }) => runs.rerunFailed({ workflowId, limit: 5 }),
  "runs.estimate": ({ runs }) => runs.estimate({ workflowId }),
  "runs.events": ({ runs }) => collect(runs.events(runId)),
  "runs.events as a summary": ({ runs }) => collect(runs.events(runId, { view: "summary" })),
  "runs.events behind one": ({ runs }) => collect(runs.events(runId, { after: 2 })),
  "runs.events behind the last": ({ runs }) => collect(runs.events(runId, { after: 4 })),
  "workflows.live": ({ workflows }) => first(workflows.live(workflowId)),
  "runs.live": ({ runs }) => first(runs.live({ workflowId, limit: 3 })),
  "approvals.list": ({ approvals }) => approvals.list({ workflowId, limit: 2 }),
  "deliveries.listAll": ({ deliveries }) => deliveries.listAll({ state: "FAILED", limit: 2 }),
  "deliveries.redeliverFailed": ({ deliveries }) =>
    deliveries.redeliverFailed({ since: "2026-01-01T00:00:00.000Z" }),
  "deliveries.list": ({ deliveries }) => deliveries.list(runId),
  "nodeTypes.list": ({ nodeTypes }) => nodeTypes.list(),
  "usage.read": ({ usage }) => usage.read({ from: "2026-01-01", to: "2026-01-31" }),
}

const refusals: Readonly<Record<string, (client: Client) => unknown>> = {
  "an unknown workflow": ({ workflows }) => workflows.get("wf_none"),
  "an unknown version": ({ workflows }) => workflows.version(workflowId, 7),
  "a start of an unknown version": ({ runs }) => runs.start({ workflowId, version: 7 }),
  "a version that is no number": ({ workflows }) => workflows.version(workflowId, any("x")),
  "a version of an unknown workflow": ({ workflows }) => workflows.publish("wf_none"),
  "an unknown trigger": ({ triggers }) => triggers.get(workflowId, "trg_none"),
  "a trigger of another workflow": ({ triggers }) => triggers.get("wf_none", triggerId),
  "triggers of an unknown workflow": ({ triggers }) => triggers.list("wf_none"),
  "a trigger without a name": ({ triggers }) => triggers.remove(workflowId, "."),
  "a schedule that is never due": ({ triggers }) =>
    triggers.create(workflowId, { type: "schedule", cron: "0 0 31 2 *" }),
  "a trigger of an unknown type": ({ triggers }) =>
    triggers.create(workflowId, any({ type: "mail" })),
  "a webhook with a field of schedules": ({ triggers }) =>
    triggers.create(workflowId, any({ type: "webhook", cron: "* * * * *" })),
  "a schedule with a field of webhooks": ({ triggers }) =>
    triggers.update(workflowId, triggerId, { respond: "output" }),
  "a test address of a schedule": ({ triggers }) => triggers.beginTest(workflowId, triggerId),
  "a new address of a schedule": ({ triggers }) => triggers.readdress(workflowId, triggerId),
  "an unknown run": ({ runs }) => runs.get("run_none"),
  "items of an unknown node": ({ runs }) => runs.items(runId, "nobody"),
  "an unknown node of a run": ({ runs }) => runs.node(runId, "nobody"),
  "a node without a name": ({ runs }) => runs.node(runId, ".."),
  "the graph of an unknown run": ({ runs }) => runs.definition("run_none"),
  "runs that are watched from a time after the end": ({ runs }) =>
    first(runs.live({ from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z" })),
  "a page of runs that are watched": ({ runs }) => first(runs.live(any({ page: 2 }))),
  "a view that there is not": ({ runs }) => runs.get(runId, any({ view: "whole" })),
  "an unknown run that is waited for": ({ runs }) => runs.wait("run_none"),
  "an unknown run that is followed": ({ runs }) => collect(runs.events("run_none")),
  "an unknown approval": ({ approvals }) => approvals.get(runId, "say"),
  "an approval of an unknown run": ({ approvals }) => approvals.link("run_none", "say", "a@b.c"),
  "an unknown delivery": ({ deliveries }) => deliveries.redeliver("msg_none"),
  "deliveries of an unknown run": ({ deliveries }) => deliveries.list("run_none"),
  "a start of an unknown workflow": ({ runs }) => runs.start({ workflowId: "wf_none" }),
  "a run that has ended": ({ runs }) => runs.cancel(runId),
  "a signal to an unknown workflow": ({ workflows }) =>
    workflows.signal("wf_none", "paid", { correlation: "17" }),
  "a signal without a correlation": ({ workflows }) =>
    workflows.signal(workflowId, "paid", any({})),
  "a signal with a long correlation": ({ workflows }) =>
    workflows.signal(workflowId, "paid", { correlation: "x".repeat(256) }),
  "a signal to a workflow that is too large": ({ workflows }) =>
    workflows.signal(workflowId, "paid", { correlation: "17", payload: "x".repeat(70_000) }),
  "a signal to a run that has ended": ({ runs }) => runs.signal(runId, "paid"),
  "a signal to an unknown run": ({ runs }) => runs.signal("run_none", "paid"),
  "a signal without a name": ({ runs }) => runs.signal(runId, ""),
  "a signal of a long name": ({ runs }) => runs.signal(runId, "x".repeat(101)),
  "a signal that is too large": ({ runs }) => runs.signal(runId, "paid", "x".repeat(70_000)),
  "a rerun of an unknown run": ({ runs }) => runs.rerun("run_none"),
  "a rerun from an unknown node": ({ runs }) => runs.rerun(runId, { from: ["sya"] }),
  "a rerun without anything to do": ({ runs }) => runs.planRerun(runId),
  "a rerun with a field that there is not": ({ runs }) => runs.rerun(runId, any({ form: ["a"] })),
  "an outdated revision": ({ workflows }) =>
    workflows.update(workflowId, { name: "x" }, { ifMatch: '"99"' }),
  "a revision that is none": ({ workflows }) => workflows.update(workflowId, {}, { ifMatch: "9" }),
  "a graph that is none": ({ workflows }) =>
    workflows.create({ ...hello, edges: [{ id: "e", source: "a", target: "b" }] }),
  "a draft that is started": ({ runs }) =>
    runs.start({ workflowId, nodeOverrides: [{ id: "say", type: "no_such", position: at }] }),
  "two names that are almost right": ({ runs }) => {
    const data = { inputs: { url: "{{ rn.id }}{{ vlues.x }}" } }
    return runs.start({
      workflowId,
      nodeOverrides: [{ id: "say", type: "http_request", position: at, data }],
    })
  },
  "a body of the wrong form": ({ workflows }) => workflows.create(any({ name: "", nodes: [5] })),
  "no body at all": ({ workflows }) => workflows.create(any(undefined)),
  "a field that there is not": ({ runs }) => runs.start(any({ workflowId, maxCredit: 1 })),
  "a field of settings": ({ workflows }) =>
    workflows.update(workflowId, any({ settings: { onFailur: "stop" } })),
  "a query that there is not": ({ runs }) => runs.list(any({ statsu: "FAILED" })),
  "an option that there is not": ({ runs }) =>
    runs.start({ workflowId }, any({ idempotencykey: "a" })),
  "a limit out of range": ({ runs }) => runs.list({ limit: 51 }),
  "a status that is none": ({ runs }) => runs.list(any({ status: "DONE" })),
  "a time of a listing that is none": ({ runs }) => runs.list({ from: "yesterday" }),
  "times in the wrong order": ({ runs }) =>
    runs.list({ from: "2026-01-02T00:00Z", to: "2026-01-01T00:00Z" }),
  "a cursor that is none": ({ workflows }) => workflows.list({ cursor: "zzz" }),
  "a cursor beside a page": ({ workflows }) => workflows.list({ cursor: "zzz", page: 1 }),
  "an id that is none": ({ runs }) => runs.get(""),
  "an id that cannot be stored": ({ runs }) => runs.get("a\0b"),
  "an idempotency key that is none": ({ runs }) =>
    runs.start({ workflowId }, { idempotencyKey: "ü" }),
  "a webhook that nobody delivers": ({ runs }) =>
    runs.start({ workflowId, webhook: { url: "https://example.com" } }),
  "too many ids": ({ runs }) => runs.batch(Array.from({ length: 51 }, () => runId)),
  "a view of events that there is not": ({ runs }) =>
    collect(runs.events(runId, any({ view: "x" }))),
  "a number of an event that there is not": ({ runs }) => collect(runs.events(runId, { after: 9 })),
  "days in the wrong order": ({ usage }) => usage.read({ from: "2026-02-01", to: "2026-01-01" }),
  "a day that is none": ({ usage }) => usage.read({ from: "yesterday" }),
  "a time that is none": ({ runs }) => runs.wait(runId, any({ timeout: "soon" })),
  "credits that do not cover it": ({ runs }) => runs.start({ workflowId, maxCredits: -1 }),
}

describe("The promise interface", () => {
  it("has a method for every operation of the HTTP interface, over both transports", () => {
    const missing = Object.entries(Api.groups).flatMap(([group, { endpoints }]) =>
      Object.keys(endpoints).filter((name) =>
        [engine, remote].some((client) => {
          const methods: unknown = client[group as keyof Client]
          return typeof (methods as Record<string, unknown>)[name] !== "function"
        }),
      ),
    )
    expect(missing).toEqual([])
  })

  it("has one type for both", () => {
    expectTypeOf(engine.runs).toEqualTypeOf<Client["runs"]>()
    expectTypeOf(engine.workflows).toEqualTypeOf<Client["workflows"]>()
    expectTypeOf<Engine>().toExtend<Client>()
  })

  it.each(Object.entries(reads))("answers %s alike", async (_, call) => {
    const [direct, overHttp] = await both(call)
    expect(direct).toEqual(overHttp)
    expect(direct).not.toHaveProperty("code")
  })

  it.each(Object.entries(refusals))("refuses %s alike", async (_, call) => {
    const [direct, overHttp] = await both(call)
    expect(direct).toEqual(overHttp)
    expect(direct).toHaveProperty("code")
  })

  it("changes things alike", async () => {
    const [direct, overHttp] = await both(async ({ runs, triggers, workflows }) => {
      const made = await workflows.create(hello)
      const changed = await workflows.update(
        made.id,
        { description: "d", settings: { onFailure: "stop" } },
        { ifMatch: (await workflows.getTagged(made.id)).etag },
      )
      const again = await workflows.updateTagged(made.id, { name: "Again" })
      const copy = await workflows.duplicate(made.id)
      const added = await workflows.addNode(copy.id, { nodeType: "constant", inputs: { value: 1 } })
      const etag = (await workflows.getTagged(made.id)).etag
      const published = await workflows.publish(made.id, { note: "First" }, { ifMatch: etag })
      const named = await workflows.update(made.id, { name: "Third" })
      const difference = await workflows.difference(made.id, 1)
      const version = await workflows.version(made.id, 1)
      const restored = await workflows.restoreTagged(made.id, 1)
      const versions = [published, named, difference, version, restored]
      const trigger = await triggers.create(made.id, { type: "schedule", everySeconds: 60 })
      const off = await triggers.update(made.id, trigger.id, { enabled: false })
      const gone = await triggers.remove(made.id, trigger.id)
      const run = await runs.start({ workflowId: made.id, values: {} })
      const ended = await run.wait()
      const removed = await workflows.remove(copy.id)
      const schedules = { trigger, off, gone }
      const unpublished = await workflows.unpublish(made.id)
      return {
        made,
        changed,
        again,
        copy,
        added,
        schedules,
        versions,
        unpublished,
        run: { ...run },
        ended,
        removed,
      }
    })
    expect(steady(direct)).toEqual(steady(overHttp))
    expect(direct).not.toHaveProperty("code")
  })

  it("starts a run once under an idempotency key, whichever way it is repeated", async () => {
    const start = (client: Client, values = {}) =>
      client.runs.start({ workflowId, values }, { idempotencyKey: "order 7" })
    const first = await start(engine)
    expect(first.isReplay).toBe(false)
    expect(await start(engine)).toMatchObject({ id: first.id, isReplay: true })
    expect(await start(remote)).toMatchObject({ id: first.id, isReplay: true })
    const [direct, overHttp] = await both((client) => start(client, { other: 1 }))
    expect(direct).toMatchObject({ code: "IDEMPOTENCY_KEY_TAKEN", status: 409 })
    expect(direct).toEqual(overHttp)
  })

  it("gives a call up when its signal is aborted", async () => {
    const hang = [{ id: "w", type: "delay", position: at, data: { inputs: { for: "1 day" } } }]
    const { id } = await engine.workflows.create({ name: "Hang", nodes: hang })
    for (const client of [engine, remote]) {
      const run = await client.runs.start({ workflowId: id })
      const before = AbortSignal.abort(new Error("enough"))
      await expect(client.runs.get(run.id, { signal: before })).rejects.toThrow("enough")
      const later = new AbortController()
      const { signal } = later
      const ended = Promise.allSettled([run.wait({ signal }), collect(run.events({ signal }))])
      const reason = new Error("enough")
      later.abort(reason)
      expect(await ended).toEqual([
        { status: "rejected", reason },
        { status: "rejected", reason },
      ])
      expect((await run.cancel()).status).toBe("CANCELED")
    }
  })

  it("ends a stream of events that nobody reads any more", async () => {
    const seen: Array<string> = []
    const { id } = await engine.workflows.create(hello)
    const run = await engine.runs.start({ workflowId: id })
    for await (const { event } of run.events()) {
      seen.push(event)
      break
    }
    expect(seen).toEqual(["snapshot"])
  })
})
