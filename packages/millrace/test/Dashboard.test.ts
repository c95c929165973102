/**
 * The dashboard of an engine: where it is mounted, and who may see what.
 */
import type { DashboardOptions } from "millrace"
import { createEngine } from "millrace"
import { describe, expect, it, onTestFinished } from "vitest"
import { refusal } from "./Sample.ts"

const open = async (options: Parameters<typeof createEngine>[0]) => {
  const engine = await createEngine(options)
  onTestFinished(() => engine.close())
  return engine
}

const origin = "https://app.test"

/** What a browser sends with a change on a page of ours. */
const ours = { "sec-fetch-site": "same-origin", origin, "content-type": "application/json" }

describe("createEngine({ dashboard })", () => {
  it.each(["", "/a/b"])(
    "serves its pages and files at %j, relative to themselves",
    async (base) => {
      const engine = await open({ dashboard: true, ...(base === "" ? {} : { basePath: base }) })
      const get = (path: string) => engine.fetch(new Request(`${origin}${base}${path}`))
      const page = await get("/dashboard/runs/run_1")
      expect([page.status, page.headers.get("content-type")]).toEqual([
        200,
        "text/html; charset=utf-8",
      ])
      const html = await page.text()
      const root = new URL(
        /<base href="([^"]+)"/.exec(html)![1]!,
        `${origin}${base}/dashboard/runs/x`,
      )
      expect(root.pathname).toBe(`${base}/dashboard/`)
      const script = /src="(\.\/assets\/[^"]+)"/.exec(html)![1]!
      const file = await get(new URL(script, root).pathname.slice(base.length))
      expect(file.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
      const short = await get("/dashboard")
      const location = new URL(short.headers.get("location")!, `${origin}${base}/dashboard`)
      expect(location.pathname).toBe(`${base}/dashboard/`)
    },
  )

  it("works behind a proxy that strips a prefix", async () => {
    const engine = await open({ dashboard: true })
    const { path } = await engine.sessions.link({ role: "viewer" })
    // What the browser asks for below /flows, the proxy asks for without it.
    const proxy = (url: string, init: RequestInit = {}) =>
      engine.fetch(new Request(url.replace(`${origin}/flows`, origin), init))
    const page = await proxy(`${origin}/flows/dashboard/login`)
    const base = /<base href="([^"]+)"/.exec(await page.text())![1]!
    const root = new URL(base, `${origin}/flows/dashboard/login`)
    expect(root.pathname).toBe("/flows/dashboard/")
    const api = new URL("../api/console/v1/", root)
    const ticket = path.split("#t=")[1]!
    const signedIn = await proxy(new URL("sign-in", api).href, {
      method: "POST",
      headers: ours,
      body: JSON.stringify({ ticket }),
    })
    expect(signedIn.status).toBe(200)
    const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!
    const session = await proxy(new URL("session", api).href, { headers: { cookie } })
    expect(await session.json()).toMatchObject({ role: "viewer" })
  })

  it("is absent without the option, and with false", async () => {
    for (const options of [{}, { dashboard: false }]) {
      const engine = await open(options)
      expect((await engine.fetch(new Request(`${origin}/dashboard/`))).status).toBe(404)
    }
  })

  it("is framed by the origins that the option names", async () => {
    const frameAncestors = ["https://app.example.com"]
    const engine = await open({ dashboard: { frameAncestors } })
    const { headers } = await engine.fetch(new Request(`${origin}/dashboard/`))
    const policy = headers.get("content-security-policy")
    expect(policy).toContain("frame-ancestors 'self' https://app.example.com")
  })

  it("is called by pages of the origins that the engine allows, with a token", async () => {
    const engine = await open({ allowedOrigins: ["https://app.example.com"] })
    const { token } = await engine.sessions.create({ role: "viewer" })
    const allowedFor = async (page: string) => {
      const headers = { authorization: `Bearer ${token}`, origin: page }
      const asked = new Request(`${origin}/api/console/v1/runs`, { headers })
      return (await engine.fetch(asked)).headers.get("access-control-allow-origin")
    }
    expect(await allowedFor("https://app.example.com")).toBe("https://app.example.com")
    expect(await allowedFor("https://evil.example")).toBe(null)
    const { message } = await refusal(createEngine({ allowedOrigins: ["*"] }))
    expect(message).toMatch(/^createEngine: allowedOrigins: \[0\]: expected an origin such as/)
  })

  it("refuses what is no option, before anything is opened", async () => {
    const wrong = [1, "yes", null, { authorise: () => null }, { authorize: true }]
    const frames = [{ frameAncestors: "https://a.b" }, { frameAncestors: ["*"] }]
    for (const dashboard of [...wrong, ...frames]) {
      const { message } = await refusal(createEngine({ dashboard: dashboard as never }))
      expect(message).toMatch(/^createEngine: dashboard: /)
    }
  })
})

const opened = async (authorize: DashboardOptions["authorize"]) => {
  const engine = await open({ dashboard: { authorize: authorize! }, account: "acme" })
  const ask = (path: string, init: RequestInit = {}) =>
    engine.fetch(new Request(`${origin}/api/console/v1${path}`, init))
  return { engine, ask }
}

describe("createEngine({ dashboard: { authorize } })", () => {
  it("opens the console to whom the application signs in, in the role that it says", async () => {
    const { ask, engine } = await opened(async (request) =>
      request.headers.get("cookie") === "user=ada"
        ? { account: "acme", role: "editor", user: "ada" }
        : null,
    )
    const cookie = { cookie: "user=ada" }
    expect((await ask("/session")).status).toBe(401)
    expect(await (await ask("/session", { headers: cookie })).json()).toMatchObject({
      role: "editor",
      account: { name: "acme" },
    })
    const drawn = engine.workflow("Hello").node("a", "constant", { value: 1 })
    const { id: workflowId } = await engine.workflows.create(drawn)
    const start = { method: "POST", body: JSON.stringify({ workflowId }) }
    const started = await ask("/runs", { ...start, headers: { ...ours, ...cookie } })
    expect(started.status).toBe(201)
    expect((await ask("/runs", { ...start, headers: cookie })).status).toBe(403)
    expect((await ask("/keys", { headers: cookie })).status).toBe(403)
    // API keys open /api/v1 as before.
    const { secret } = await engine.keys.create({ label: "key" })
    const headers = { authorization: `Bearer ${secret}` }
    const listed = await engine.fetch(new Request(`${origin}/api/v1/runs`, { headers }))
    expect(listed.status).toBe(200)
  })

  it("opens nothing for what is no grant, an error, and an account that is not there", async () => {
    const answers: ReadonlyArray<() => unknown> = [
      () => null,
      () => undefined,
      () => Promise.reject(new Error("expired")),
      () => ({ account: "nobody", role: "viewer" }),
      () => ({ account: "acme" }),
      () => ({ account: "acme", role: "operator" }),
      () => ({ account: "acme", role: "viewer", workflows: [] }),
      () => ({ account: "acme", role: "viewer", workflows: "wf" }),
      () => ({ account: "acme", role: "viewer", user: 7 }),
      () => ({ role: "viewer" }),
      () => true,
    ]
    for (const answer of answers) {
      const { ask } = await opened(answer as DashboardOptions["authorize"])
      expect((await ask("/session")).status).toBe(401)
    }
  })

  it("keeps two customers apart, also with the ids of the other one", async () => {
    let accountId = ""
    const { ask, engine } = await opened(() => ({ accountId, role: "owner" }))
    const [one, two] = [
      await engine.accounts.create({ name: "One" }),
      await engine.accounts.create({ name: "Two" }),
    ]
    const { id } = await engine.account(two.id).workflows.create({ name: "Of two" })
    accountId = one.id
    expect((await ask(`/workflows/${id}`)).status).toBe(404)
    const headers = { "x-millrace-account": two.id }
    expect((await ask(`/workflows/${id}`, { headers })).status).toBe(404)
    accountId = two.id
    expect((await ask(`/workflows/${id}`)).status).toBe(200)
  })
})
