/**
 * The HTTP interface mounted in frameworks: the same in each, also behind what reads bodies.
 *
 * The frameworks are loaded by name, so their types are not needed to check this file.
 */
import type { Engine, NodeHandler } from "millrace"
import { createEngine, defineNode, MillraceError, toNodeHandler } from "millrace"
import { createClient } from "millrace/client"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { refusal } from "./Sample.ts"

const load = async <A>(name: string): Promise<A> => (await import(name)) as A

/** A handler of web requests becomes a handler of Node's. */
type Mount = (fetch: Engine["fetch"]) => Promise<NodeHandler>

type Callback = (...given: ReadonlyArray<never>) => unknown
type Used = NodeHandler & { use(...given: ReadonlyArray<unknown>): void }
interface Express {
  readonly default: (() => Used) & { json(): unknown }
}
interface KoaContext {
  readonly req: IncomingMessage & { body?: unknown }
  readonly res: ServerResponse
  readonly path: string
  respond: boolean
  body: unknown
}
type Koa = new () => {
  use(call: (context: KoaContext, next: () => Promise<void>) => unknown): void
  callback(): NodeHandler
}
interface FastifyRequest {
  readonly raw: IncomingMessage & { body?: unknown }
  readonly body: unknown
}
interface FastifyReply {
  readonly raw: ServerResponse
  hijack(): void
}
interface Fastify {
  all(path: string, call: (request: FastifyRequest, reply: FastifyReply) => void): void
  get(path: string, call: () => Promise<string>): void
  removeAllContentTypeParsers(): void
  addContentTypeParser(type: string, call: Callback): void
  ready(): Promise<unknown>
  readonly routing: NodeHandler
}
interface HonoContext {
  readonly req: { readonly raw: Request; json(): Promise<unknown> }
  text(text: string): Response
}
interface Hono {
  all(path: string, call: (context: HonoContext) => Promise<Response>): void
  get(path: string, call: (context: HonoContext) => Response): void
  use(path: string, call: (context: HonoContext, next: () => Promise<void>) => unknown): void
  readonly fetch: (request: Request) => Promise<Response>
}

const page = "the page of the app"

const express =
  (isParsed: boolean): Mount =>
  async (fetch) => {
    const { default: make } = await load<Express>("express")
    const app = make()
    if (isParsed) app.use(make.json())
    app.use("/automation", toNodeHandler(fetch))
    app.use((_: unknown, response: ServerResponse) => response.end(page))
    return app
  }

const koa =
  (isParsed: boolean): Mount =>
  async (fetch) => {
    const { default: Koa } = await load<{ readonly default: Koa }>("koa")
    const app = new Koa()
    const handle = toNodeHandler(fetch)
    app.use(async (context, next) => {
      if (isParsed) for await (const _ of context.req);
      return next()
    })
    app.use((context) => {
      if (!context.path.startsWith("/automation/")) return void (context.body = page)
      context.respond = false
      handle(context.req, context.res)
    })
    return app.callback()
  }

const fastify =
  (isParsed: boolean): Mount =>
  async (fetch) => {
    const { default: make } = await load<{ readonly default: () => Fastify }>("fastify")
    const app = make()
    const handle = toNodeHandler(fetch)
    if (!isParsed) {
      app.removeAllContentTypeParsers()
      const leave = (_: unknown, __: unknown, done: (error: null) => void) => done(null)
      app.addContentTypeParser("*", leave)
    }
    app.all("/automation/*", (request, reply) => {
      reply.hijack()
      if (isParsed) request.raw.body = request.body
      handle(request.raw, reply.raw)
    })
    app.get("/", async () => page)
    await app.ready()
    return app.routing
  }

const hono =
  (isParsed: boolean): Mount =>
  async (fetch) => {
    const { Hono } = await load<{ readonly Hono: new () => Hono }>("hono")
    const server = await load<{
      getRequestListener(fetch: Hono["fetch"]): NodeHandler
    }>("@hono/node-server")
    const app = new Hono()
    if (isParsed) {
      app.use("*", async (context, next) => {
        if (context.req.raw.method === "POST") await context.req.raw.json()
        await next()
      })
    }
    app.all("/automation/*", (context) => fetch(context.req.raw))
    app.get("/", (context) => context.text(page))
    return server.getRequestListener(app.fetch)
  }

const node: Mount = async (fetch) => {
  const handle = toNodeHandler(fetch)
  return (request, response) => {
    if (request.url?.startsWith("/automation/") === true) handle(request, response)
    else response.end(page)
  }
}

/** What Next calls for each method of `app/automation/[...path]/route.ts`. */
const route: Mount = async (fetch) => {
  const POST = (request: Request) => fetch(request)
  return toNodeHandler(async (request) =>
    new URL(request.url).pathname.startsWith("/automation/") ? POST(request) : new Response(page),
  )
}

const mounts: Readonly<Record<string, Mount>> = {
  "node:http": node,
  "a route handler": route,
  Express: express(false),
  "Express behind express.json()": express(true),
  Fastify: fastify(false),
  "Fastify that has parsed the body": fastify(true),
  Hono: hono(false),
  Koa: koa(false),
}

const hang = defineNode({
  type: "test.hang",
  inputs: {},
  outputs: {},
  run: ({ signal }) => once(signal, "abort").then(() => ({})),
})

let engine: Engine
let secret: string
let ids: { readonly hello: string; readonly hang: string }

beforeAll(async () => {
  engine = await createEngine({
    nodes: [hang],
    basePath: "/automation",
    limits: { bodyBytes: 4_096 },
  })
  secret = (await engine.keys.create({ label: "test", perMinute: 10_000 })).secret
  const hello = engine.workflow("Hello").node("a", "constant", { value: 1 })
  const at = { x: 0, y: 0 }
  ids = {
    hello: (await engine.workflows.create(hello)).id,
    hang: (
      await engine.workflows.create({
        name: "Hang",
        nodes: [{ id: "h", type: "test.hang", position: at }],
      })
    ).id,
  }
})
afterAll(() => engine.close())

/** Listens until the test ends. Gives the origin. */
const listen = async (handler: NodeHandler): Promise<string> => {
  const server = createServer(handler).listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const clientOf = (origin: string) =>
  createClient({ url: `${origin}/automation`, apiKey: secret, retries: 0 })

describe.each(Object.entries(mounts))("In %s, the interface", (_, mount) => {
  it("starts runs, streams their events, and leaves the rest to the application", async () => {
    const origin = await listen(await mount(engine.fetch))
    const client = clientOf(origin)
    const run = await client.runs.start({ workflowId: ids.hello }, { idempotencyKey: origin })
    expect((await run.wait({ timeout: "10 seconds" })).status).toBe("COMPLETED")
    const hanging = await client.runs.start({ workflowId: ids.hang })
    const seen: Array<string> = []
    for await (const { event } of hanging.events()) {
      seen.push(event)
      // It comes while the run is in progress.
      if (seen.length === 1) await hanging.cancel()
    }
    expect([seen[0], seen.at(-1)]).toEqual(["snapshot", "run.canceled"])
    expect(await (await fetch(origin)).text()).toBe(page)
  })

  it("bounds bodies, and says what is not there", async () => {
    const client = clientOf(await listen(await mount(engine.fetch)))
    const large = await refusal(client.workflows.create({ name: "x".repeat(5_000) }))
    expect([large.status, large.code]).toEqual([413, "BODY_TOO_LARGE"])
    expect((await refusal(client.runs.get("run_none"))).code).toBe("RUN_NOT_FOUND")
  })

  it("says so where it is mounted elsewhere than its base path", async () => {
    await using other = await createEngine({ basePath: "/other/" })
    const origin = await listen(await mount(other.fetch))
    const answer = await fetch(`${origin}/automation/api/v1/runs`)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toEqual({
      error: "The address is not below /other: set basePath to where the engine is mounted",
    })
  })
})

describe("A body that somebody else has read", () => {
  it("is missed in one sentence, where it is left nowhere", async () => {
    const start = async (mount: Mount) => {
      const client = clientOf(await listen(await mount(engine.fetch)))
      return client.runs.start({ workflowId: ids.hello })
    }
    const ofKoa = await refusal(start(koa(true)))
    expect([ofKoa.status, ofKoa.message]).toEqual([
      400,
      "A body parser has read the body: mount Millrace in front of it, or leave what it has read " +
        "in request.body",
    ])
    const ofHono = await refusal(start(hono(true)))
    expect([ofHono.status, ofHono.message]).toEqual([
      400,
      "body: was read before Millrace got the request; mount Millrace in front of what reads " +
        "bodies",
    ])
  })
})

describe("basePath", () => {
  it.each(["automation", "/a//b", "/a?b", "/a b", "/a/../b", "/./b", "https://x.test/a"])(
    "refuses %s",
    async (basePath) => {
      const error = await refusal(createEngine({ basePath }))
      expect(error).toBeInstanceOf(MillraceError)
      expect(error.message).toBe('createEngine: basePath: expected a path such as "/automation"')
    },
  )

  it.each(["", "/", "/a", "/a/b-c/", "/~me/v1.2"])("takes %s", async (basePath) => {
    await using open = await createEngine({ basePath })
    const path = basePath.replace(/\/$/, "")
    expect((await open.fetch(new Request(`http://app.test${path}/healthz`))).status).toBe(200)
  })
})
