/**
 * The sign-in of an application in the place of API keys.
 */
import type { Authorize } from "millrace"
import { createEngine, postgres } from "millrace"
import { describe, expect, it, onTestFinished } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { refusal } from "./Sample.ts"

const open = async (authorize: Authorize) => {
  const engine = await createEngine({ authorize, account: "acme" })
  onTestFinished(() => engine.close())
  const ask = (path: string, init: RequestInit = {}) =>
    engine.fetch(new Request(`http://app.test/api/v1${path}`, init))
  return { engine, ask }
}

const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: { "content-type": "application/json", ...headers },
})

describe("createEngine({ authorize })", () => {
  it("admits whom the application has signed in, by headers and address", async () => {
    const seen: Array<readonly unknown[]> = []
    const { ask, engine } = await open(async (request) => {
      seen.push([request.method, new URL(request.url).pathname, await request.text()])
      return request.headers.get("cookie") === "user=ada" ? { account: "acme" } : null
    })
    const drawn = engine.workflow("Hello").node("a", "constant", { value: 1 })
    const { id: workflowId } = await engine.workflows.create(drawn)
    const started = await ask("/runs", post({ workflowId }, { cookie: "user=ada" }))
    const { runId } = (await started.json()) as { readonly runId: string }
    expect((await engine.runs.wait(runId)).status).toBe("COMPLETED")
    expect(started.headers.has("x-ratelimit-remaining")).toBe(false)
    expect(seen).toEqual([["POST", "/api/v1/runs", ""]])
    const events = await ask(`/runs/${runId}/events`, { headers: { cookie: "user=ada" } })
    expect(await events.text()).toContain("event: snapshot")
  })

  it("answers 401 to nothing, to an error, and to an account that is not there", async () => {
    const answers: ReadonlyArray<Authorize> = [
      () => null,
      () => undefined,
      () => Promise.resolve(null),
      () => {
        throw new Error("expired")
      },
      () => Promise.reject(new Error("expired")),
      () => ({ account: "nobody" }),
      () => ({ account: "" }),
      () => ({ accountId: "acc_nobody" }),
      () => ({ accountId: 7 as never }),
      () => ({ account: "a\0b" }),
      () => ({}) as never,
      () => true as never,
    ]
    for (const authorize of answers) {
      const { ask, engine } = await open(authorize)
      const { secret } = await engine.keys.create({ label: "key" })
      const answer = await ask("/runs", { headers: { authorization: `Bearer ${secret}` } })
      expect(answer.status).toBe(401)
      expect(answer.headers.get("x-error-code")).toBe("sign_in_refused")
      expect(await answer.json()).toEqual({ error: "The request is not signed in" })
    }
  })

  it("takes the id of an account in the place of its name", async () => {
    let accountId = ""
    const { ask, engine } = await open(() => ({ accountId }))
    const one = await engine.accounts.create({ name: "Same" })
    const two = await engine.accounts.create({ name: "Same" })
    const { id } = await engine.account(two.id).workflows.create({ name: "Of two" })
    accountId = one.id
    expect((await ask(`/workflows/${id}`)).status).toBe(404)
    accountId = two.id
    expect((await ask(`/workflows/${id}`)).status).toBe(200)
  })

  it("shows each account its own", async () => {
    const server = await PostgresServer.create()
    onTestFinished(() => server.remove())
    const authorize: Authorize = ({ headers }) => ({ account: headers.get("x-tenant") ?? "" })
    const store = () => postgres(server.url)
    const one = await createEngine({ store: store(), account: "one", authorize, webhooks: false })
    onTestFinished(() => one.close())
    const two = await createEngine({ store: store(), account: "two", webhooks: false })
    onTestFinished(() => two.close())
    const { id } = await two.workflows.create({ name: "Of two" })
    const ask = async (tenant: string) => {
      const headers = { "x-tenant": tenant }
      return one.fetch(new Request(`http://app.test/api/v1/workflows/${id}`, { headers }))
    }
    expect((await ask("one")).status).toBe(404)
    expect(await (await ask("two")).json()).toMatchObject({ name: "Of two" })
  }, 60_000)

  it("is refused where it is no function", async () => {
    const error = await refusal(createEngine({ authorize: true as never }))
    expect(error.message).toBe("createEngine: authorize: expected a function")
  })
})
