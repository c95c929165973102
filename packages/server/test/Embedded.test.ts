/**
 * What an application can rely on that embeds an engine on the Postgres which servers share.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { createEngine, defineNode, MillraceError, postgres } from "millrace"
import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { Hook } from "./Hook.ts"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"

const masterKey = Buffer.alloc(32, 7).toString("base64")

let database: PostgresServer
beforeAll(async () => {
  database = await PostgresServer.create()
})
afterAll(() => database.remove())

const refusal = async (call: Promise<unknown>): Promise<MillraceError> => {
  const error: unknown = await call.then(
    () => new Error("The call was not refused"),
    (reason: unknown) => reason,
  )
  if (error instanceof MillraceError) return error
  throw error
}

describe("An engine on Postgres", () => {
  it("shares workflows and runs with another one on the same database", async () => {
    await using one = await createEngine({ store: postgres(database.url) })
    await using two = await createEngine({ store: postgres({ url: database.url, connections: 2 }) })
    const drawn = one.workflow("Shared").node("a", "constant", { value: 1 })
    const { id } = await one.workflows.create(drawn)
    const run = await two.runs.start({ workflowId: id })
    expect((await one.runs.wait(run.id)).status).toBe("COMPLETED")
  })

  it("delivers webhooks that verify", async () => {
    const hook = await Hook.open()
    onTestFinished(() => hook.close())
    await using engine = await createEngine({
      store: postgres(database.url),
      webhooks: { masterKey },
      egress: { allow: [{ cidr: "127.0.0.1/32", port: hook.port }] },
    })
    const drawn = engine.workflow("Told").node("a", "constant", { value: 1 })
    const { id } = await engine.workflows.create(drawn)
    const webhook = { url: hook.url, events: ["run.completed"] as const }
    const run = await engine.runs.start({ workflowId: id, webhook })
    await hook.has(1)
    const [{ secret } = { secret: "" }] = await engine.webhooks.secrets()
    const { body, headers } = hook.received[0]!
    const payload = new Webhook(secret).verify(body, headers as Record<string, string>)
    expect(payload).toMatchObject({ type: "run.completed", runId: run.id })
  })

  it("asks for a master key where a start wants a webhook and there is none", async () => {
    await using engine = await createEngine({ store: postgres(database.url) })
    const { id } = await engine.workflows.create({ name: "Untold" })
    const webhook = { url: "https://example.com/hook" }
    const error = await refusal(engine.runs.start({ workflowId: id, webhook }))
    expect(error.code).toBe("INVALID_WEBHOOK")
    expect(error.message).toMatch(/^webhook: .* master key .*createEngine\({ masterKey }\)/)
  })

  it("keeps secrets by a master key alone, and none without it", async () => {
    const secret = { name: "token", value: "sk_live_51HxYz", hosts: ["api.example.com"] }
    await using without = await createEngine({ store: postgres(database.url) })
    await expect(without.secrets.set(secret)).rejects.toThrow(
      "There is no key to keep secrets with",
    )
    const options = { store: postgres(database.url), masterKey, webhooks: false as const }
    await using engine = await createEngine(options)
    expect((await engine.secrets.set(secret)).hosts).toEqual(["api.example.com"])
    await engine.secrets.remove("token")
  })

  it("goes on with the runs of a process that was killed", async () => {
    const main = fileURLToPath(new URL("EmbeddedProgram.ts", import.meta.url))
    const flags = ["--conditions=@millrace/source", main, database.url]
    const child = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] })
    onTestFinished(() => void child.kill("SIGKILL"))
    const ended = once(child, "exit")
    const [printed] = await once(child.stdout, "data")
    child.kill("SIGKILL")
    await ended

    const patient = defineNode({ type: "patient", inputs: {}, outputs: {}, run: () => {} })
    await using engine = await createEngine({ store: postgres(database.url), nodes: [patient] })
    const run = await engine.runs.wait(String(printed).trim())
    expect(run.status).toBe("COMPLETED")
    expect(run.nodes["wait"]).toMatchObject({ status: "COMPLETED" })
  })

  it("says in one sentence that a database cannot be used", async () => {
    const nowhere = postgres("postgres://nobody@127.0.0.1:1/nothing")
    const error = await refusal(createEngine({ store: nowhere }))
    expect(error.code).toBe("STORE_UNAVAILABLE")
    expect(error.message).not.toContain("\n")
  })
})
