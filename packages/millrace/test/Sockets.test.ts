/**
 * What nodes that speak other protocols than HTTP can and cannot do within an engine: they ask
 * databases, never the engine's own one, and take secrets nowhere but to their hosts.
 */
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import type { Engine } from "millrace"
import { createEngine, postgres } from "millrace"
import { Client } from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"

const egress = { allow: [{ cidr: "127.0.0.1/32" }] }

/** The record of a run of this one node. */
const recordOf = async (engine: Engine, type: string, inputs: Record<string, unknown>) => {
  const drawn = engine.workflow("Asked").node("a", type as "postgres_query", inputs)
  const { id: workflowId } = await engine.workflows.create(drawn)
  const { id } = await engine.runs.start({ workflowId })
  await engine.runs.wait(id)
  const run = await engine.runs.get(id)
  return { node: run.nodes["a"], text: JSON.stringify(run) }
}

describe("postgres_query in an engine", () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.create("fast")
    const owner = new Client(server.url)
    await owner.connect()
    await owner.query("CREATE DATABASE shop")
    await owner.end()
  })
  afterAll(() => server.remove())

  it("asks other databases, and never the engine's own one", async () => {
    await using engine = await createEngine({
      store: postgres(server.url),
      webhooks: false,
      egress,
    })
    const inputs = {
      host: "localhost",
      port: Number(new URL(server.url).port),
      user: "postgres",
      tls: "off",
      statement: "SELECT $1::int + 1 AS more",
      parameters: [1],
    }
    const other = await recordOf(engine, "postgres_query", { ...inputs, database: "shop" })
    expect(other.node?.output).toEqual({ rows: [{ more: 2 }], count: 1 })
    const own = await recordOf(engine, "postgres_query", { ...inputs, database: "postgres" })
    expect(own.node?.error).toBe("A database of Millrace itself may not be queried")
  })
})

/** A server that asks for a password in the clear, and repeats it in its error. */
const echoing = async () => {
  let connections = 0
  const server = createServer((client) => {
    connections += 1
    client.on("error", () => undefined)
    client.once("data", () => {
      client.write(Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 3]))
      client.once("data", (given: Buffer) => {
        const said = `SFATAL\0C28P01\0Mwrong: ${given.subarray(5, -1).toString()}\0\0`
        const head = Buffer.from([69, 0, 0, 0, said.length + 4])
        client.end(Buffer.concat([head, Buffer.from(said)]))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

describe("A secret of a node that opens a socket", () => {
  const value = "pw_live_51HxYz"

  it("is masked in what a server repeats, and goes to no other host", async () => {
    await using server = await echoing()
    await using engine = await createEngine({ egress })
    const inputs = {
      host: "localhost",
      port: server.port,
      database: "shop",
      user: "me",
      password: "{{ secrets.db }}",
      tls: "off",
      statement: "SELECT 1",
    }
    const hosts = [`localhost:${server.port}`]
    await engine.secrets.set({ name: "db", value, hosts })
    const { node, text } = await recordOf(engine, "postgres_query", inputs)
    expect(node?.error).toBe("The database says: wrong: ••• (28P01)")
    expect(text).not.toContain(value)
    expect(server.connections()).toBe(1)
    await engine.secrets.set({ name: "db", value, hosts: ["db.example.com"] })
    const elsewhere = await recordOf(engine, "postgres_query", inputs)
    expect(elsewhere.node?.error).toBe(`The secret "db" may not go to localhost:${server.port}`)
    const mail = await recordOf(engine, "email", {
      host: "localhost",
      port: server.port,
      tls: "off",
      user: "me",
      password: "{{ secrets.db }}",
      from: "a@x.test",
      to: "b@x.test",
      subject: "x",
      text: "x",
    })
    expect(mail.node?.error).toBe(`The secret "db" may not go to localhost:${server.port}`)
    expect(server.connections()).toBe(1)
  })
})

describe("The ports of sockets", () => {
  it("are those that the options name", async () => {
    const inputs = {
      host: "192.0.2.1",
      database: "shop",
      user: "me",
      statement: "SELECT 1",
      timeoutSeconds: 1,
    }
    await using engine = await createEngine({ egress: { postgresPorts: [5433] } })
    const usual = await recordOf(engine, "postgres_query", inputs)
    expect(usual.node?.error).toBe("Port 5432 may not be called")
    const own = await recordOf(engine, "postgres_query", { ...inputs, port: 5433 })
    expect(own.node?.error).toBe("The host does not lead to a public address")
  })
})
