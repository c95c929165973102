/**
 * Records the database of this version, for versions to come:
 * `node --conditions=@millrace/source packages/server/test/upgrade/Record.ts`.
 *
 * A server works until each of its runs does something else, and is killed: one run waits, one
 * calls somebody who does not answer, one will try again, one waits for a signal, one for a run of
 * its own, and one has ended and could not tell the receiver. An inbound webhook is there, too.
 */
import { writeFileSync } from "node:fs"
import type { Server } from "node:http"
import { createServer } from "node:http"
import type { RunView } from "../ApiClient.ts"
import { ApiClient, hasEnded } from "../ApiClient.ts"
import { createKey } from "../kill/Arena.ts"
import { query } from "../kill/Sql.ts"
import { PostgresServer } from "../../../postgres/test/PostgresServer.ts"
import { ServerProcess } from "../ServerProcess.ts"
import type { Recording } from "./Recording.ts"
import { receiverMark } from "./Recording.ts"

const position = { x: 0, y: 0 }

const node = (id: string, type: string, inputs: object, more: object = {}) => ({
  id,
  type,
  position,
  data: { inputs, ...more },
})

/** What a run does first, and its answer after that. */
const drawing = (name: string, first: object, sourceHandle = "output") => ({
  name,
  nodes: [first, node("last", "response", {})],
  edges: [{ id: "e", source: "first", target: "last", sourceHandle, targetHandle: "input" }],
})

const call = (path: string, more: object = {}) =>
  node("first", "http_request", { url: `http://${receiverMark}/${path}` }, more)

const drawings = [
  drawing("ended", node("first", "constant", { value: 1 })),
  drawing("waiting", node("first", "delay", { for: "20 seconds", input: 1 })),
  drawing("calling", call("never"), "body"),
  drawing("retrying", call("busy", { retry: { attempts: 3, initial: "20 seconds" } }), "body"),
  drawing("signaled", node("first", "wait_signal", { name: "paid" }), "payload"),
]

const parent = (workflowId: string) =>
  drawing("parent", node("first", "sub_workflow", { workflowId }))

/** Answers nobody, or that it is busy; deliveries, too. */
const openReceiver = (port: number) =>
  new Promise<Server>((resolve) => {
    const server = createServer((request, response) => {
      if (request.url !== "/never") response.writeHead(503).end()
    })
    server.listen(port, "127.0.0.1", () => resolve(server))
  })

/** Keeps every statement that makes or changes a table, in the order of their coming. */
const watch = [
  "CREATE TABLE made (place serial, statement text)",
  `CREATE FUNCTION keep_made() RETURNS event_trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO made (statement) VALUES (current_query()); END'`,
  "CREATE EVENT TRIGGER keep_made ON ddl_command_end EXECUTE FUNCTION keep_made()",
]
const unwatch = ["DROP EVENT TRIGGER keep_made", "DROP FUNCTION keep_made", "DROP TABLE made"]

const rowsOf = async (url: string): Promise<Recording["rows"]> => {
  const tables = await query<{ readonly name: string }>(
    url,
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
  )
  const entries: Array<[string, ReadonlyArray<string>]> = []
  for (const { name } of tables) {
    const all = await query<{ readonly row: string }>(
      url,
      `SELECT row_to_json(t)::text AS row FROM ${name} t`,
    )
    entries.push([name, all.map(({ row }) => row)])
  }
  return Object.fromEntries(entries)
}

/** Starts a run of each drawing, and kills the server when each does what it is there for. */
const work = async (postgres: PostgresServer, secret: string) => {
  const server = new ServerProcess(["serve", "--port", "0"], {
    DATABASE_URL: postgres.url,
    MILLRACE_EGRESS_ALLOW: "127.0.0.1/32:54321",
  })
  const origin = (await server.waitFor(/listens on (http:[^" ]+)/))[1] ?? ""
  const client = new ApiClient(origin, secret)
  const runs: Record<string, string> = {}
  const webhook = { url: `http://${receiverMark}/hook`, events: ["run.completed"] }
  const workflows: Record<string, string> = {}
  const start = async (each: ReturnType<typeof drawing>) => {
    const { id: workflowId } = await client.call<{ id: string }>("POST", "/workflows", each)
    const { runId } = await client.call<{ runId: string }>("POST", "/runs", { workflowId, webhook })
    workflows[each.name] = workflowId
    runs[each.name] = runId
  }
  for (const each of drawings) await start(each)
  await start(parent(workflows["waiting"] ?? ""))
  const triggers = `/workflows/${workflows["ended"]}/triggers`
  const { path } = await client.call<{ path: string }>("POST", triggers, { type: "webhook" })
  await client.runWhen(runs["ended"] ?? "", hasEnded)
  const isWaiting = (run: RunView) => run.nodeRuns.some(({ status }) => status === "WAITING")
  for (const name of ["waiting", "retrying", "signaled", "parent"]) {
    await client.runWhen(runs[name] ?? "", isWaiting)
  }
  await server.end("SIGKILL")
  return { runs, hook: path }
}

const receiver = await openReceiver(Number(receiverMark.split(":")[1]))
const postgres = await PostgresServer.create()
try {
  const { url } = postgres
  for (const statement of watch) await query(url, statement)
  const secret = await createKey(url)
  const { hook, runs } = await work(postgres, secret)
  const recordedAt = Date.now()
  const made = await query<{ readonly statement: string }>(
    url,
    "SELECT statement FROM made ORDER BY place",
  )
  for (const statement of unwatch) await query(url, statement)
  // A statement that makes several things comes once for each.
  const statements = made
    .map(({ statement }) => statement)
    .filter((each, index, all) => each !== all[index - 1])
  const rows = await rowsOf(url)
  const recording: Recording = { recordedAt, secret, runs, hook, statements, rows }
  const schema = rows["millrace_migrations"]?.length ?? 0
  const file = new URL(`schema-${schema}.json`, import.meta.url)
  writeFileSync(file, JSON.stringify(recording, null, 1) + "\n")
  console.log(`recorded ${file.pathname}`)
} finally {
  await postgres.remove()
  receiver.closeAllConnections()
  receiver.close()
}
