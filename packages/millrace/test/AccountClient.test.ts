/**
 * Several accounts through one engine: each sees its own, and nobody sees what another one has.
 */
import type { Account, AccountClient, Engine } from "millrace"
import { createEngine, defineNode, postgres } from "millrace"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { z } from "zod"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { Receiver } from "./Receiver.ts"
import { gate, refusal } from "./Sample.ts"

/** What an account has, by what it is. */
interface Ids {
  readonly workflow: string
  readonly run: string
  readonly open: string
  /** A run of which the node `ask` asks. */
  readonly asking: string
  readonly value: string
  readonly delivery: string
  readonly key: string
  readonly secret: string
  readonly grant: string
  readonly trigger: string
  /** Where webhooks may be sent. */
  readonly url: string
}

const operation = { actor: "shop", reason: "a test" }
const hosts = ["example.com"]
const daily = { type: "schedule", cron: "0 9 * * *" } as const

/**
 * Every method of the client of an account, called with what somebody has. Both tests below call
 * all of them.
 */
const methods: Record<string, (client: AccountClient, ids: Ids) => unknown> = {
  "workflows.list": ({ workflows }) => workflows.list(),
  "workflows.create": ({ workflows }) => workflows.create({ name: "New" }),
  "workflows.get": ({ workflows }, { workflow }) => workflows.get(workflow),
  "workflows.getTagged": ({ workflows }, { workflow }) => workflows.getTagged(workflow),
  "workflows.update": ({ workflows }, { workflow }) => workflows.update(workflow, { name: "Mine" }),
  "workflows.updateTagged": ({ workflows }, { workflow }) =>
    workflows.updateTagged(workflow, { name: "Mine" }),
  "workflows.remove": ({ workflows }, { workflow }) => workflows.remove(workflow),
  "workflows.duplicate": ({ workflows }, { workflow }) => workflows.duplicate(workflow),
  "workflows.addNode": ({ workflows }, { workflow }) =>
    workflows.addNode(workflow, { nodeType: "constant" }),
  "workflows.validate": ({ workflows }, { workflow }) => workflows.validate(workflow),
  "workflows.evaluate": ({ workflows }, { run, workflow }) =>
    workflows.evaluate(workflow, { runId: run, nodeId: "large", text: "{{ run.id }}" }),
  "workflows.signal": ({ workflows }, { workflow }) =>
    workflows.signal(workflow, "paid", { correlation: "17" }),
  "workflows.publish": ({ workflows }, { workflow }) => workflows.publish(workflow),
  "workflows.unpublish": ({ workflows }, { workflow }) => workflows.unpublish(workflow),
  "workflows.versions": ({ workflows }, { workflow }) => workflows.versions(workflow),
  "workflows.version": ({ workflows }, { workflow }) => workflows.version(workflow, 1),
  "workflows.restore": ({ workflows }, { workflow }) => workflows.restore(workflow, 1),
  "workflows.restoreTagged": ({ workflows }, { workflow }) => workflows.restoreTagged(workflow, 1),
  "workflows.difference": ({ workflows }, { workflow }) => workflows.difference(workflow, 1),
  "triggers.list": ({ triggers }, { workflow }) => triggers.list(workflow),
  "triggers.create": ({ triggers }, { workflow }) => triggers.create(workflow, daily),
  "triggers.get": ({ triggers }, { trigger, workflow }) => triggers.get(workflow, trigger),
  "triggers.update": ({ triggers }, { trigger, workflow }) =>
    triggers.update(workflow, trigger, { enabled: false }),
  "triggers.readdress": ({ triggers }, { trigger, workflow }) =>
    triggers.readdress(workflow, trigger),
  "triggers.beginTest": ({ triggers }, { trigger, workflow }) =>
    triggers.beginTest(workflow, trigger),
  "triggers.readTest": ({ triggers }, { trigger, workflow }) =>
    triggers.readTest(workflow, trigger),
  "triggers.endTest": ({ triggers }, { trigger, workflow }) => triggers.endTest(workflow, trigger),
  "triggers.remove": ({ triggers }, { trigger, workflow }) => triggers.remove(workflow, trigger),
  "triggers.paused": ({ triggers }) => triggers.paused(),
  "triggers.pause": ({ triggers }) => triggers.pause(),
  "triggers.resume": ({ triggers }) => triggers.resume(),
  "runs.list": ({ runs }, { workflow }) => runs.list({ workflowId: workflow }),
  "runs.start": ({ runs }, { workflow: workflowId }) => runs.start({ workflowId }),
  "runs.estimate": ({ runs }, { workflow: workflowId }) => runs.estimate({ workflowId }),
  "runs.get": ({ runs }, { run }) => runs.get(run),
  "runs.node": ({ runs }, { run }) => runs.node(run, "large"),
  "runs.items": ({ runs }, { run }) => runs.items(run, "large"),
  "runs.definition": ({ runs }, { run }) => runs.definition(run),
  "runs.value": ({ runs }, { run, value }) => runs.value(run, value),
  "runs.batch": ({ runs }, { run }) => runs.batch([run]),
  "runs.cancel": ({ runs }, { open }) => runs.cancel(open),
  "runs.signal": ({ runs }, { open }) => runs.signal(open, "paid"),
  "runs.rerun": ({ runs }, { run }) => runs.rerun(run, { from: ["large"] }),
  "runs.rerunFailed": ({ runs }) => runs.rerunFailed(),
  "runs.planRerun": ({ runs }, { run }) => runs.planRerun(run, { from: ["large"] }),
  "runs.events": async ({ runs }, { run }) => {
    for await (const event of runs.events(run)) return event
    return undefined
  },
  "workflows.live": async ({ workflows }, { workflow }) => {
    for await (const event of workflows.live(workflow)) return event
    return undefined
  },
  "runs.live": async ({ runs }, { workflow }) => {
    for await (const event of runs.live({ workflowId: workflow })) return event
    return undefined
  },
  "runs.wait": ({ runs }, { open }) => runs.wait(open),
  "approvals.list": ({ approvals }, { workflow: workflowId }) => approvals.list({ workflowId }),
  "approvals.get": ({ approvals }, { asking }) => approvals.get(asking, "ask"),
  "approvals.decide": ({ approvals }, { asking }) =>
    approvals.decide(asking, "ask", { outcome: "approved" }),
  "approvals.link": ({ approvals }, { asking }) => approvals.link(asking, "ask", "ann@example.com"),
  "deliveries.list": ({ deliveries }, { run }) => deliveries.list(run),
  "deliveries.listAll": ({ deliveries }) => deliveries.listAll(),
  "deliveries.redeliverFailed": ({ deliveries }) => deliveries.redeliverFailed(),
  "deliveries.get": ({ deliveries }, { delivery }) => deliveries.get(delivery),
  "deliveries.redeliver": ({ deliveries }, { delivery }) => deliveries.redeliver(delivery),
  "nodeTypes.list": ({ nodeTypes }) => nodeTypes.list(),
  "usage.read": ({ usage }) => usage.read(),
  "keys.create": ({ keys }) => keys.create({ label: "key" }),
  "keys.list": ({ keys }) => keys.list(),
  "keys.update": ({ keys }, { key }) => keys.update(key, { perMinute: 7 }),
  "keys.revoke": ({ keys }, { key }) => keys.revoke(key),
  "credits.get": ({ credits }) => credits.get(),
  "credits.grant": ({ credits }, { grant }) =>
    credits.grant({ ...operation, id: grant, amount: 1 }),
  "credits.adjust": ({ credits }) => credits.adjust({ ...operation, amount: -1 }),
  "credits.meter": ({ credits }) => credits.meter({ ...operation, metered: true }),
  "credits.statement": ({ credits }) => credits.statement(),
  "secrets.set": ({ secrets }, { secret }) =>
    secrets.set({ name: secret, value: "sk-another-9Tz41", hosts }),
  "secrets.list": ({ secrets }) => secrets.list(),
  "secrets.remove": ({ secrets }, { secret }) => secrets.remove(secret),
  "webhooks.test": ({ webhooks }, { url }) => webhooks.test({ url }),
  "webhooks.redeliverFailed": ({ webhooks }) => webhooks.redeliverFailed({ since: new Date(0) }),
  "webhooks.secrets": ({ webhooks }) => webhooks.secrets(),
  "webhooks.rotateSecret": ({ webhooks }) => webhooks.rotateSecret(),
}

const endless = gate()
const nodes = [
  defineNode({
    type: "large",
    inputs: {},
    outputs: { text: z.string() },
    run: () => ({ text: "0123456789".repeat(20_000) }),
  }),
  defineNode({ type: "endless", inputs: {}, outputs: {}, run: () => endless.opened }),
]

const settle = async (engine: Engine, client: AccountClient, url: string): Promise<Ids> => {
  const large = await client.workflows.create(engine.workflow("Large").node("large", "large"))
  const endlessly = engine.workflow("Endless").node("n", "endless")
  const { id: workflowId } = await client.workflows.create(endlessly)
  const webhook = { url, events: ["run.completed"] as const }
  const run = await (await client.runs.start({ workflowId: large.id, webhook })).wait()
  const [delivery] = (await client.deliveries.list(run.id)).items
  const secret = await client.secrets.set({ name: "token", value: "sk-first-1Qx88", hosts })
  await client.workflows.publish(large.id)
  const asking = engine
    .workflow("Asks")
    .node("ask", "approval", { title: "Sure?", approvers: "ann@example.com" })
  const { id: asks } = await client.workflows.create(asking)
  const asked = (await client.runs.start({ workflowId: asks })).id
  await vi.waitFor(async () =>
    expect((await client.approvals.get(asked, "ask")).status).toBe("pending"),
  )
  return {
    workflow: large.id,
    asking: asked,
    run: run.id,
    open: (await client.runs.start({ workflowId })).id,
    value: Object.values(run.nodes["large"]?.largeValues ?? {})[0]!.id,
    delivery: delivery!.id,
    key: (await client.keys.create({ label: "CI" })).id,
    secret: secret.name,
    grant: (await client.credits.grant({ ...operation, id: "order-7", amount: 10 })).id,
    url,
    trigger: (await client.triggers.create(large.id, { type: "webhook" })).id,
  }
}

/** All that an account has. */
const view = async (client: AccountClient, { open, run, workflow }: Ids) => ({
  workflows: (await client.workflows.list()).items,
  workflow: await client.workflows.getTagged(workflow),
  runs: await client.runs.batch([run, open]),
  deliveries: (await client.deliveries.list(run)).items.map(({ id }) => id),
  triggers: await client.triggers.list(workflow),
  versions: await client.workflows.versions(workflow),
  keys: await client.keys.list(),
  credits: await client.credits.get(),
  statement: await client.credits.statement(),
  secrets: await client.secrets.list(),
  signing: await client.webhooks.secrets(),
})

const open = async () => {
  const receiver = await Receiver.open()
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  const engine = await createEngine({ nodes, egress: receiver.egress, grace: 0 })
  onTestFinished(() => engine.close())
  const { id } = await engine.accounts.create({ name: "Acme" })
  const acme = engine.account(id)
  return { engine, acme, ids: await settle(engine, acme, receiver.url) }
}

/** The names of an object's functions, and of those in its objects. */
const functionsOf = (of: object): ReadonlyArray<string> =>
  Object.entries(of).flatMap(([name, value]) => {
    if (typeof value === "function") return [name]
    if (typeof value !== "object" || value === null) return []
    return functionsOf(value).map((each) => `${name}.${each}`)
  })

/** What a call tells its caller. */
interface Outcome {
  readonly code?: unknown
  readonly text: string
}

const outcomeOf = async (call: () => unknown): Promise<Outcome> => {
  try {
    return { text: JSON.stringify((await call()) ?? null) }
  } catch (error) {
    const { code, message } = error as { readonly code: unknown; readonly message: string }
    return { code, text: message }
  }
}

/** An identifier that nobody has. */
const unlike = (id: string) => `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`

/** The same with identifiers that nobody has, and the names that another account has, too. */
const unlikeAll = ({ grant, secret, url, ...ids }: Ids): Ids => {
  const entries = Object.entries(ids).map(([kind, id]) => [kind, unlike(id)] as const)
  return { ...(Object.fromEntries(entries) as unknown as Ids), grant, secret, url }
}

/** A refusal without the identifier that was asked for. */
const refusalOf = ({ code, text }: Outcome, ids: Ids) =>
  code === undefined
    ? undefined
    : [
        code,
        Object.values<string>({ ...ids }).reduce((rest, id) => rest.replaceAll(id, "ID"), text),
      ]

describe("engine.account", () => {
  it("has the methods of which the tests below call each", async () => {
    await using engine = await createEngine()
    const client = engine.account((await engine.accounts.create({ name: "Acme" })).id)
    expect(functionsOf(client).toSorted()).toEqual(Object.keys(methods).toSorted())
    expect(functionsOf(engine)).toEqual(expect.arrayContaining(Object.keys(methods)))
  })

  it("does for another account what the engine does for its own", async () => {
    const { acme, engine, ids } = await open()
    expect(engine.account(acme.accountId)).toBe(acme)
    expect((await acme.runs.get(ids.run)).status).toBe("COMPLETED")
    expect((await acme.credits.get()).balance.posted).toBe(10)
    expect((await engine.credits.get()).balance.posted).toBe(0)
    // An operation with an id is done once for each account.
    await engine.credits.grant({ ...operation, id: ids.grant, amount: 3 })
    expect((await engine.credits.get()).balance.posted).toBe(3)
    const { secret } = await acme.keys.create({ label: "web" })
    const headers = { authorization: `Bearer ${secret}` }
    const request = new Request(`http://app.test/api/v1/runs/${ids.run}`, { headers })
    expect(await (await engine.fetch(request)).json()).toMatchObject({ id: ids.run })
    const own = engine.account(engine.accountId)
    expect((await own.workflows.list()).items).toEqual([])
  })

  it("shows nothing of one account to another one, and changes nothing of it", async () => {
    const { acme, engine, ids } = await open()
    const before = await view(acme, ids)
    const unknown = unlikeAll(ids)
    const { grant: _, secret: __, url: ___, ...telling } = ids
    for (const [name, call] of Object.entries(methods)) {
      const strangers = ["One", "Other"].map((each) => engine.accounts.create({ name: each }))
      const [one, other] = (await Promise.all(strangers)).map(({ id }) => engine.account(id))
      const foreign = await outcomeOf(() => call(one!, ids))
      const missing = await outcomeOf(() => call(other!, unknown))
      expect([name, refusalOf(foreign, ids)]).toEqual([name, refusalOf(missing, unknown)])
      const told = foreign.code === undefined ? foreign.text : ""
      expect(Object.values(telling).filter((id) => told.includes(id))).toEqual([])
      expect([name, await view(acme, ids)]).toEqual([name, before])
    }
  }, 30_000)

  it("refuses every call for an account that does not exist", async () => {
    const { acme, engine, ids } = await open()
    const before = await view(acme, ids)
    for (const [name, call] of Object.entries(methods)) {
      const stranger = engine.account("acc_nobody")
      const outcome = await outcomeOf(() => call(stranger, ids))
      const told = { code: "ACCOUNT_NOT_FOUND", text: "Account acc_nobody does not exist" }
      expect([name, outcome]).toEqual([name, told])
    }
    expect(await view(acme, ids)).toEqual(before)
    for (const id of [undefined, null, 7, "", {}, "a\0b"]) {
      expect(() => engine.account(id as string)).toThrow("account: expected the id of an account")
    }
  })
})

describe("engine.accounts", () => {
  it("makes accounts, lists them, and sets how many runs they may execute", async () => {
    await using engine = await createEngine({ account: "own" })
    const acme = await engine.accounts.create({ name: "Acme" })
    expect(acme).toMatchObject({ name: "Acme", runsAtOnce: null })
    const again = await engine.accounts.create({ name: "Acme" })
    expect(again.id).not.toBe(acme.id)
    expect(await engine.accounts.update(acme.id, { runsAtOnce: 3 })).toEqual({
      ...acme,
      runsAtOnce: 3,
    })
    const ids = (accounts: ReadonlyArray<Account>) => accounts.map(({ id }) => id).toSorted()
    const listed = await engine.accounts.list()
    expect(ids(listed)).toEqual([engine.accountId, acme.id, again.id].toSorted())
    const nobody = await refusal(engine.accounts.update("acc_nobody", { runsAtOnce: 1 }))
    expect([nobody.code, nobody.message]).toEqual([
      "ACCOUNT_NOT_FOUND",
      "Account acc_nobody does not exist",
    ])
  })

  it("refuses what is no account in one sentence, and makes none", async () => {
    await using engine = await createEngine()
    const before = await engine.accounts.list()
    const wrong: ReadonlyArray<readonly [unknown, string]> = [
      [{}, "name: is missing"],
      [{ name: "" }, "name: expected 1 to 120 characters"],
      [{ name: 7 }, "name: expected a string"],
      [{ name: " a" }, "name: expected a string with no leading or trailing whitespace"],
      [{ name: "a", nam: 1 }, 'unknown field "nam"; did you mean "name"?'],
      [undefined, "account: expected an object"],
    ]
    for (const [given, sentence] of wrong) {
      const error = await refusal(engine.accounts.create(given as { readonly name: string }))
      expect([error.code, error.message]).toEqual(["INVALID_REQUEST", sentence])
    }
    expect(await engine.accounts.list()).toEqual(before)
  })
})

describe("createEngine({ account })", () => {
  it("makes an account once, however many engines open with it at the same time", async () => {
    const server = await PostgresServer.create()
    onTestFinished(() => server.remove())
    const store = postgres(server.url)
    const first = await createEngine({ store })
    onTestFinished(() => first.close())
    const engines = await Promise.all(
      Array.from({ length: 4 }, () => createEngine({ store, account: "tenant" })),
    )
    for (const engine of engines) onTestFinished(() => engine.close())
    expect(new Set(engines.map(({ accountId }) => accountId)).size).toBe(1)
    const names = (await first.accounts.list()).map(({ name }) => name)
    expect(names.toSorted()).toEqual(["default", "tenant"])
  }, 60_000)
})
