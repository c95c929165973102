/**
 * What http_request does with secrets, redirects and pages, as an application sees it.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Engine } from "millrace"
import { createEngine } from "millrace"
import { describe, expect, it } from "vitest"
import { refusal } from "./Sample.ts"

type Answering = (request: IncomingMessage, response: ServerResponse) => void

/** A server on this machine that keeps what it was asked. */
class Site implements AsyncDisposable {
  readonly seen: Array<IncomingMessage> = []
  readonly #server: Server

  private constructor(answer: Answering) {
    this.#server = createServer((request, response) => {
      this.seen.push(request)
      answer(request, response)
    })
  }

  static async open(answer: Answering): Promise<Site> {
    const site = new Site(answer)
    await new Promise<void>((resolve) => site.#server.listen(0, "127.0.0.1", resolve))
    return site
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get url(): string {
    return `http://${this.host}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

const local = { egress: { allow: [{ cidr: "127.0.0.1/32" }] } }

const value = "sk_live_51HxYz"

type Drawn = Readonly<Record<string, unknown>>

/** The node run of a request once its run has ended. */
const called = async (engine: Engine, inputs: Drawn) => {
  const drawn = engine.workflow("Called").node("a", "http_request", inputs)
  const { id: workflowId } = await engine.workflows.create(drawn)
  const { id } = await engine.runs.start({ workflowId })
  await engine.runs.wait(id)
  return (await engine.runs.get(id)).nodes["a"]
}

describe("The auth of http_request", () => {
  it("takes a secret, which no redirect takes to another host", async () => {
    await using away = await Site.open((_request, response) => response.end("away"))
    await using home = await Site.open((_request, response) =>
      response.writeHead(302, { location: away.url }).end(),
    )
    await using engine = await createEngine(local)
    await engine.secrets.set({ name: "token", value, hosts: [home.host] })
    const auths: ReadonlyArray<Drawn> = [
      { type: "bearer", token: "{{ secrets.token }}" },
      { type: "basic", username: "me", password: "{{ secrets.token }}" },
      { type: "header", name: "X-Key", value: "k {{ secrets.token }}" },
    ]
    for (const auth of auths) {
      const nodeRun = await called(engine, { url: home.url, auth })
      expect(nodeRun?.input).toEqual({ url: home.url, auth })
      expect(nodeRun?.output).toMatchObject({ body: "away" })
    }
    const [bearer, basic, header] = home.seen.map(({ headers }) => headers)
    expect(bearer?.authorization).toBe(`Bearer ${value}`)
    expect(basic?.authorization).toBe(`Basic ${Buffer.from(`me:${value}`).toString("base64")}`)
    expect(header?.["x-key"]).toBe(`k ${value}`)
    expect(away.seen).toHaveLength(3)
    for (const { headers } of away.seen) {
      expect(headers).not.toHaveProperty("authorization")
      expect(headers).not.toHaveProperty("x-key")
    }
  })
})

describe("The pages of http_request", () => {
  /** Three pages; the last one has no next. */
  const paged: Answering = (request, response) => {
    const page = Number(new URL(request.url ?? "", "http://x").searchParams.get("page") ?? 1)
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ items: [page], next: page < 3 ? `/?page=${page + 1}` : null }))
  }

  it("are called as the expression says, with the same auth, and put out together", async () => {
    await using site = await Site.open(paged)
    await using engine = await createEngine(local)
    const auth = { type: "bearer", token: "t" }
    const inputs = { url: site.url, auth, next: "{{ body.next }}" }
    const { output } = (await called(engine, inputs))!
    expect(output).toMatchObject({
      response: { status: 200 },
      body: [{ items: [1] }, { items: [2] }, { items: [3] }],
    })
    expect(output).not.toHaveProperty("next")
    expect(site.seen.map(({ url }) => url)).toEqual(["/", "/?page=2", "/?page=3"])
    expect(site.seen.map(({ headers }) => headers.authorization)).toEqual(
      Array.from({ length: 3 }, () => "Bearer t"),
    )
    const rest = (await called(engine, { ...inputs, maxPages: 2 }))!.output
    expect(rest).toMatchObject({ next: `${site.url}/?page=3`, body: [{}, {}] })
    const counted = "{{ page < 2 && response.status === 200 ? '?page=' + (page + 1) : undefined }}"
    expect((await called(engine, { ...inputs, next: counted }))!.output).toMatchObject({
      body: [{}, {}],
    })
  })

  it("at another origin are asked for without auth", async () => {
    await using away = await Site.open(paged)
    await using site = await Site.open((_request, response) => response.end(away.url))
    await using engine = await createEngine(local)
    const auth = { type: "bearer", token: "t" }
    const next = "{{ page === 1 ? body : null }}"
    const { output } = (await called(engine, { url: site.url, auth, next }))!
    expect(output).toMatchObject({ body: [away.url, { items: [1] }] })
    expect(away.seen[0]?.headers).not.toHaveProperty("authorization")
  })

  it("fail where one of them repeats a secret, which their expression must not see", async () => {
    await using site = await Site.open(({ headers }, response) =>
      response.end(JSON.stringify(headers)),
    )
    await using engine = await createEngine(local)
    await engine.secrets.set({ name: "token", value, hosts: [site.host] })
    const auth = { type: "bearer", token: "{{ secrets.token }}" }
    const next = "{{ 'http://example.com/' + body.split('').reverse().join('') }}"
    const nodeRun = await called(engine, { url: site.url, auth, next })
    expect(nodeRun?.error).toBe('next: the page repeats the secret "token"')
    expect(site.seen).toHaveLength(1)
  })

  it("fail with one sentence where the next one is none", async () => {
    await using site = await Site.open(paged)
    await using engine = await createEngine(local)
    const failing = async (next: string) => (await called(engine, { url: site.url, next }))?.error
    expect(await failing("{{ body.items }}")).toBe(
      'next: it gives "[1]"; expected an address, or nothing',
    )
    expect(await failing("{{ body.none.next }}")).toBe(
      "next: {{ body.none.next }}: TypeError: cannot read property 'next' of undefined",
    )
    expect(await failing("{{ 'http://10.0.0.1/' }}")).toBe(
      "The URL does not lead to a public address",
    )
    const { problems } = await refusal(called(engine, { url: site.url, next: "{{ body. }}" }))
    expect(problems).toEqual(['Node "a": input "next", column 9: the expression ends too early'])
  })
})
