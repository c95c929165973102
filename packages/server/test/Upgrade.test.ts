/**
 * Databases that earlier versions left behind, with runs and deliveries in progress: a server of
 * this version brings their tables up to date and goes on with what is in them.
 */
import { readdirSync } from "node:fs"
import type { Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ApiClient, hasEnded } from "./ApiClient.ts"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { Workshop } from "./ServerProcess.ts"
import { load, read } from "./upgrade/Recording.ts"

const workshop = new Workshop()

/** The numbers of the schemas that are recorded. */
const schemas = readdirSync(new URL("upgrade/", import.meta.url))
  .flatMap((name) => /^schema-(\d+)\.json$/.exec(name)?.[1] ?? [])
  .map(Number)

interface Told {
  readonly type: string
  readonly runId: string
}

/** Answers what the recorded runs ask for, and remembers what it is told by webhooks. */
class Receiver {
  readonly told: Array<Told> = []
  readonly #server: Server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      if (request.method === "POST") {
        this.told.push(JSON.parse(Buffer.concat(chunks).toString()) as Told)
      }
      response.setHeader("content-type", "application/json").end(JSON.stringify(request.url))
    })
  })

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** What each run of a recording puts out in the end. */
const outputs: Readonly<Record<string, unknown>> = {
  ended: 1,
  waiting: 1,
  calling: "/never",
  retrying: "/busy",
  signaled: { by: "Ada" },
  parent: 1,
}

describe.each(schemas)("A database of schema %i", (schema) => {
  const receiver = new Receiver()
  let postgres: PostgresServer

  beforeAll(async () => {
    postgres = await PostgresServer.create()
  })
  afterAll(async () => {
    receiver.close()
    await postgres.remove()
  })

  it("is brought up to date, and its runs and deliveries go on", async () => {
    const port = await receiver.listen()
    const recording = read(schema, port)
    await load(postgres.url, recording)
    const server = workshop.start(["serve", "--port", "0"], {
      DATABASE_URL: postgres.url,
      MILLRACE_EGRESS_ALLOW: `127.0.0.1/32:${port}`,
    })
    const origin = (await server.waitFor(/listens on (http:[^" ]+)/))[1] ?? ""
    const client = new ApiClient(origin, recording.secret)
    const names = Object.keys(recording.runs)
    const signaled = recording.runs["signaled"]
    if (signaled !== undefined) {
      await client.call("POST", `/runs/${signaled}/signals/paid`, {
        payload: outputs["signaled"],
      })
    }
    const ended = await Promise.all(
      names.map((name) => client.runWhen(recording.runs[name] ?? "", hasEnded)),
    )
    const found = ended.map(({ context, status, workflowName }) => ({
      [workflowName]: [status, context.output],
    }))
    expect(Object.assign({}, ...found)).toEqual(
      Object.fromEntries(names.map((name) => [name, ["COMPLETED", outputs[name]]])),
    )
    await expect
      .poll(() => new Set(receiver.told.map(({ runId }) => runId)))
      .toEqual(new Set(Object.values(recording.runs)))
    expect(receiver.told).toHaveLength(names.length)
    if (recording.hook === undefined) return
    const sent = await fetch(origin + recording.hook, { method: "POST" })
    const { runId } = (await sent.json()) as { readonly runId: string }
    expect(await client.runWhen(runId, hasEnded)).toMatchObject({ source: "webhook" })
  })
})
