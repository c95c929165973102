/**
 * What an embedding application can rely on about webhooks: they are delivered, signed, and told
 * why not where they are not.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { EngineOptions } from "millrace"
import { createEngine, memory, pglite, postgres } from "millrace"
import { afterAll, describe, expect, it } from "vitest"
import { Receiver } from "./Receiver.ts"
import { refusal } from "./Sample.ts"

const root = mkdtempSync(join(tmpdir(), "millrace-webhooks-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const masterKey = Buffer.alloc(32, 7).toString("base64")
const all = ["run.completed", "run.started"]

/** Starts a run whose start and end are told to a receiver. */
const tell = async (engine: Awaited<ReturnType<typeof createEngine>>, url: string) => {
  const drawn = engine.workflow("Told").node("a", "constant", { value: 1 })
  const { id } = await engine.workflows.create(drawn)
  const webhook = { url, events: ["run.started", "run.completed"] as const }
  return engine.runs.start({ workflowId: id, webhook })
}

describe("A webhook of a start", () => {
  const stores: ReadonlyArray<readonly [string, EngineOptions<readonly []>]> = [
    ["in memory", { store: memory() }],
    ["on PGlite", { store: pglite(join(root, "told")) }],
    ["with a master key of one's own", { masterKey }],
    ["with a master key among the options of webhooks", { webhooks: { masterKey } }],
  ]
  it.each(stores)("is delivered and verifies, %s", async (_, options) => {
    await using receiver = await Receiver.open()
    await using engine = await createEngine({ ...options, egress: receiver.egress })
    await tell(engine, receiver.url)
    await receiver.has(2)
    expect(receiver.verified(await engine.webhooks.secrets())).toEqual(all)
  })

  it("is signed with the old secret, too, after a rotation", async () => {
    await using receiver = await Receiver.open()
    await using engine = await createEngine({ egress: receiver.egress })
    const before = await engine.webhooks.secrets()
    const after = await engine.webhooks.rotateSecret({ overlap: "1 hour" })
    expect(after.map(({ id }) => id)).toEqual([before[0]?.id, after[1]?.id])
    expect(after[0]?.expiresAt).toMatch(/^\d{4}-/)
    await tell(engine, receiver.url)
    await receiver.has(2)
    for (const secret of after) expect(receiver.verified([secret])).toEqual(all)
  })

  it("is answered when a drain is over, and what waits then is left to others", async () => {
    await using receiver = await Receiver.open()
    receiver.answers = false
    await using engine = await createEngine({ egress: receiver.egress })
    await tell(engine, receiver.url)
    await receiver.has(2)
    expect(await engine.drain({ within: 0 })).toMatchObject({ deliveriesInProgress: 2 })
    const draining = engine.drain({ within: "1 minute" })
    receiver.answer()
    expect(await draining).toMatchObject({ deliveriesInProgress: 0 })
    const late = await engine.webhooks.test({ url: receiver.url })
    const { items } = await engine.deliveries.listAll()
    expect(items.map(({ attempts, id, state }) => [id === late.id, state, attempts])).toEqual([
      [true, "PENDING", 0],
      [false, "DELIVERED", 1],
      [false, "DELIVERED", 1],
    ])
    await engine.close()
    expect(receiver.received.length).toBe(2)
  })

  it("is tried by a test event, and sent again after it has failed", async () => {
    await using receiver = await Receiver.open()
    await using engine = await createEngine({ egress: receiver.egress })
    const sent = await engine.webhooks.test({ url: receiver.url })
    await receiver.has(1)
    expect(sent).toMatchObject({ type: "webhook.test", accountId: engine.accountId })
    expect(receiver.verified(await engine.webhooks.secrets())).toEqual(["webhook.test"])
    expect(await engine.webhooks.redeliverFailed({ since: new Date(0) })).toBe(0)
    const wrong = await refusal(engine.webhooks.test({ url: "http://10.0.0.1/hook" }))
    expect(wrong.code).toBe("INVALID_WEBHOOK")
    const unknown = await refusal(engine.webhooks.test({ url: receiver.url, ulr: 1 } as never))
    expect(unknown.message).toBe('unknown field "ulr"; known are url, headers')
  })

  it("is refused where its address is not public and not allowed", async () => {
    await using engine = await createEngine()
    const error = await refusal(tell(engine, "https://127.0.0.1/hook"))
    expect(error.code).toBe("INVALID_WEBHOOK")
    expect(error.message).toMatch(/^webhook\.url: /)
  })

  it("is refused in a sentence that says what to do where none are delivered", async () => {
    await using engine = await createEngine({ webhooks: false })
    const error = await refusal(tell(engine, "https://example.com/hook"))
    expect(error).toMatchObject({
      code: "INVALID_WEBHOOK",
      message: "webhook: this engine delivers none: leave out createEngine({ webhooks: false })",
    })
    // Another engine on the same database may deliver, and signs with them.
    expect(await engine.webhooks.secrets()).toHaveLength(1)
  })
})

describe("The master key of an engine", () => {
  it("is made and kept beside the database, readable to nobody else", async () => {
    const folder = join(root, "kept")
    const first = await createEngine({ store: pglite(folder) })
    const secrets = await first.webhooks.secrets()
    await first.close()
    expect(statSync(join(folder, "master.key")).mode & 0o777).toBe(0o600)
    await using second = await createEngine({ store: pglite(folder) })
    expect(await second.webhooks.secrets()).toEqual(secrets)
  })

  it("is never replaced by another one that does not open what it sealed", async () => {
    const folder = join(root, "other")
    const store = pglite(folder)
    const first = await createEngine({ store })
    const secrets = await first.webhooks.secrets()
    await first.close()
    const path = join(folder, "master.key")
    const kept = readFileSync(path, "utf8")
    writeFileSync(path, masterKey)
    const inFile = await refusal(createEngine({ store }))
    expect(inFile.message).toMatch(/^The key in .* restore that file from a backup$/)
    const given = await refusal(createEngine({ store, webhooks: { masterKey } }))
    expect(given.message).toMatch(/^masterKey does not open the secrets in this store/)
    await using again = await createEngine({ store, webhooks: { masterKey: kept.trim() } })
    expect(await again.webhooks.secrets()).toEqual(secrets)
  })

  it("is asked for on Postgres, before anything is opened", async () => {
    const store = postgres("postgres://nobody@127.0.0.1:1/nothing")
    const error = await refusal(createEngine({ store, webhooks: {} }))
    expect(error.code).toBe("INVALID_REQUEST")
    expect(error.message).toMatch(/has no master key .*: give createEngine\({ masterKey }\)/)
  })

  it.each([
    [{ webhooks: { masterKey: "secret" } }, "webhooks: masterKey: expected 32 bytes"],
    [{ masterKey: "secret" }, "masterKey: expected 32 bytes"],
    [{ masterKey: "ab".repeat(32), webhooks: { masterKey } }, "differs from masterKey"],
    [{ webhooks: { masterKye: masterKey } }, 'did you mean "masterKey"?'],
    [
      { egress: { allow: [{ cidr: "localhost" }] } },
      "egress: allow: [0]: cidr: expected a network",
    ],
  ])("is refused where an option is wrong: %j", async (options, said) => {
    expect((await refusal(createEngine(options as EngineOptions<readonly []>))).message).toContain(
      said,
    )
  })
})

describe("engine.close", () => {
  it("does not wait for a receiver that is silent beyond the grace time", async () => {
    await using receiver = await Receiver.open()
    receiver.answers = false
    const engine = await createEngine({ egress: receiver.egress, grace: 0 })
    await (await tell(engine, receiver.url)).wait()
    await receiver.has(2)
    await engine.close()
    expect((await refusal(engine.webhooks.secrets())).code).toBe("ENGINE_CLOSED")
  })
})
