/**
 * What an embedding application can rely on about secrets: it sets and removes them, and no answer
 * has a value.
 */
import type { Engine } from "millrace"
import { createEngine, defineNode } from "millrace"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { Receiver } from "./Receiver.ts"
import { refusal } from "./Sample.ts"

const value = "sk_live_51HxYz"

/** Says what it was given, in much text. */
const shout = defineNode({
  type: "test.shout",
  inputs: { token: z.string() },
  secrets: ["token"],
  outputs: { said: z.string() },
  run: ({ inputs }) => ({ said: `${"x".repeat(70_000)}${inputs.token}` }),
})

/** Says what it was given, and sends it nowhere. */
const tell = defineNode({
  type: "test.tell",
  inputs: { token: z.string(), to: z.string().optional() },
  secrets: ["token"],
  outputs: { said: z.string() },
  run: ({ inputs, log }) => {
    log.info(`got ${inputs.token}`, { token: inputs.token })
    return { said: `${inputs.token} ${Buffer.from(`me:${inputs.token}`).toString("base64")}` }
  },
})

/** A run of a workflow, as it is read once it has ended. */
const finished = async (engine: Engine, workflowId: string) => {
  const { id } = await engine.runs.start({ workflowId })
  await engine.runs.wait(id)
  return engine.runs.get(id)
}

describe("A node type that takes secrets", () => {
  it("gets the value, and no record has it", async () => {
    await using engine = await createEngine({ nodes: [tell] })
    await engine.secrets.set({ name: "token", value, hosts: ["api.example.com"] })
    const drawn = engine.workflow("Told").node("a", "test.tell", { token: "{{ secrets.token }}!" })
    const { id } = await engine.workflows.create(drawn)
    const run = await finished(engine, id)
    const nodeRun = run.nodes["a"]
    expect(nodeRun?.input).toEqual({ token: "{{ secrets.token }}!" })
    expect(nodeRun?.output).toEqual({ said: "•••! •••" })
    expect(nodeRun?.logs).toMatchObject([{ message: "got •••!", data: { token: "•••!" } }])
    expect(JSON.stringify(run)).not.toContain(value)
    const [{ lastUsedAt, usedBy } = { lastUsedAt: null, usedBy: [] }] = await engine.secrets.list()
    expect(lastUsedAt).toMatch(/^\d{4}-/)
    expect(usedBy).toEqual([{ workflowId: id, workflowName: "Told" }])
  })

  it("gets the value also where the engine delivers no webhooks", async () => {
    const masterKey = "ab".repeat(32)
    for (const options of [{}, { masterKey }]) {
      await using engine = await createEngine({ ...options, nodes: [tell], webhooks: false })
      await engine.secrets.set({ name: "token", value, hosts: ["api.example.com"] })
      const drawn = engine.workflow("T").node("a", "test.tell", { token: "{{ secrets.token }}" })
      const { id } = await engine.workflows.create(drawn)
      expect((await finished(engine, id)).nodes["a"]?.output).toEqual({ said: "••• •••" })
      const hooked = { workflowId: id, webhook: { url: "https://example.com/" } }
      expect((await refusal(engine.runs.start(hooked))).message).toContain("delivers none")
    }
  })

  it("is masked in a large value before that is stored", async () => {
    await using engine = await createEngine({ nodes: [shout] })
    await engine.secrets.set({ name: "token", value, hosts: ["api.example.com"] })
    const drawn = engine.workflow("Large").node("a", "test.shout", { token: "{{ secrets.token }}" })
    const { id } = await engine.workflows.create(drawn)
    const run = await (await engine.runs.start({ workflowId: id })).wait({ timeout: "10 seconds" })
    const [large] = run.nodes.a!.largeValues!
    expect(await engine.runs.value(run.id, large!.id)).toBe(`${"x".repeat(70_000)}•••`)
  })

  it("is not started with a name that there is not, nor a secret elsewhere", async () => {
    await using engine = await createEngine({ nodes: [tell] })
    await engine.secrets.set({ name: "token", value, hosts: ["api.example.com"] })
    const problemsOf = async (inputs: { readonly token: string; readonly to?: string }) => {
      const { id } = await engine.workflows.create(
        engine.workflow("Wrong").node("a", "test.tell", inputs),
      )
      return (await refusal(engine.runs.start({ workflowId: id }))).problems
    }
    expect(await problemsOf({ token: "{{ secrets.tokn }}" })).toEqual([
      'Node "a": input "token", column 4: the account has no secret "tokn"; did you mean "token"?',
    ])
    expect(await problemsOf({ token: "x", to: "{{ secrets.token }}" })).toEqual([
      'Node "a": input "to", column 4: secrets cannot be used here; this node takes them in token',
    ])
  })

  it("cannot be sent by http_request to another host", async () => {
    await using receiver = await Receiver.open()
    await using engine = await createEngine({ egress: receiver.egress })
    await engine.secrets.set({ name: "token", value, hosts: ["api.example.com"] })
    const headers = { authorization: "Bearer {{ secrets.token }}" }
    const drawn = engine.workflow("Sent").node("a", "http_request", { url: receiver.url, headers })
    const { id } = await engine.workflows.create(drawn)
    const run = await finished(engine, id)
    const { host } = new URL(receiver.url)
    expect(run.nodes["a"]?.error).toBe(`The secret "token" may not go to ${host}`)
    await engine.secrets.set({ name: "token", value, hosts: [host] })
    const again = await finished(engine, id)
    expect(again.nodes["a"]?.error ?? "").not.toContain("may not go to")
  })
})

describe("engine.secrets", () => {
  it("sets a secret, lists it with its users and without its value, and removes it", async () => {
    await using engine = await createEngine()
    const made = await engine.secrets.set({ name: "token", value, hosts: ["API.example.com"] })
    expect(made).toMatchObject({ name: "token", hosts: ["api.example.com"], lastUsedAt: null })
    expect(await engine.secrets.list()).toEqual([{ ...made, usedBy: [] }])
    expect(JSON.stringify(made)).not.toContain(value)
    expect(await engine.secrets.remove("token")).toEqual({ ...made, usedBy: [] })
    expect(await engine.secrets.list()).toEqual([])
  })

  it("refuses what cannot be one", async () => {
    await using engine = await createEngine()
    const secret = { name: "token", value, hosts: ["api.example.com"] }
    const codes = [
      engine.secrets.set({ ...secret, value: "password" }),
      engine.secrets.set({ ...secret, hosts: ["*"] }),
      engine.secrets.set({ ...secret, name: "my token" }),
      engine.secrets.remove("token"),
      engine.secrets.set({ ...secret, value: 1 as unknown as string }),
    ].map(async (call) => (await refusal(call)).code)
    expect(await Promise.all(codes)).toEqual([
      "INVALID_SECRET",
      "INVALID_SECRET",
      "INVALID_SECRET",
      "SECRET_NOT_FOUND",
      "INVALID_REQUEST",
    ])
    expect(await engine.secrets.list()).toEqual([])
  })
})
