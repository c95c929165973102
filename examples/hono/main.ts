/**
 * A Hono application with the HTTP interface below `/automation`. Hono speaks `Request` and
 * `Response`, as the engine does, so nothing is in between. The script calls the application
 * without a port, follows the events of a run, and ends.
 */
import { Hono } from "hono"
import { createEngine } from "millrace"

await using engine = await createEngine({ basePath: "/automation" })

const app = new Hono()
app.get("/", (context) => context.text("the application's own page"))
app.all("/automation/*", (context) => engine.fetch(context.req.raw))

const { secret } = await engine.keys.create({ label: "example" })
const call = (path: string, body?: unknown): Promise<Response> =>
  Promise.resolve(
    app.request(`/automation/api/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )

const { id: workflowId } = await engine.workflows.create(
  engine.workflow("Hello").node("greet", "transform", { template: "Hello, {{ values.name }}!" }),
)
console.log(await (await app.request("/")).text())
const started = await call("/runs", { workflowId, values: { name: "Ada" } })
const { runId } = (await started.json()) as { runId: string }

// A stream of server-sent events, which ends with the run.
const events = await (await call(`/runs/${runId}/events`)).text()
console.log(events.match(/^event: .*$/gm)?.at(-1))
console.log((await engine.runs.wait(runId)).nodes["greet"]?.output)
