/**
 * A Fastify application with the HTTP interface below `/automation`, which its own sign-in guards.
 * Fastify hands the raw request on before it parses a body. The script calls its own server, and
 * ends.
 */
import fastify from "fastify"
import { createEngine, toNodeHandler } from "millrace"

/** Who is signed in, by session. Yours are in a database. */
const sessions = new Map([["session-of-ada", "acme"]])

await using engine = await createEngine({
  account: "acme",
  basePath: "/automation",
  authorize: (request) => {
    const account = sessions.get(request.headers.get("x-session") ?? "")
    return account === undefined ? null : { account }
  },
})

const app = fastify()
app.get("/", () => "the application's own page")
await app.register((scope, _, done) => {
  // The engine reads bodies itself, and knows their limits.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  const handle = toNodeHandler(engine.fetch)
  scope.all("/automation/*", (request, reply) => {
    reply.hijack()
    handle(request.raw, reply.raw)
  })
  done()
})
const origin = await app.listen({ port: 0, host: "127.0.0.1" })

const call = async (session: string, path: string, body?: unknown): Promise<unknown> => {
  const response = await fetch(`${origin}/automation/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-session": session, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  console.log(session, body === undefined ? "GET" : "POST", response.status)
  return await response.json()
}

const { id: workflowId } = await engine.workflows.create(
  engine
    .workflow("Hello")
    .node("greet", "transform", { template: "Hello, {{ values.name }}!" })
    .node("answer", "response")
    .edge("greet.output", "answer.input"),
)
console.log(await (await fetch(origin)).text())
const start = { workflowId, values: { name: "Ada" } }
const { runId } = (await call("session-of-ada", "/runs", start)) as { runId: string }
console.log((await engine.runs.wait(runId)).output)
console.log(await call("no session", `/runs/${runId}`))

await app.close()
