import type { ServerResponse } from "node:http"
import { describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { openWeb } from "@millrace/egress/Policy"
import { Effect, Layer } from "effect"
import { expect } from "vitest"
import { httpRequest } from "../src/internal/HttpRequest.ts"
import * as Outbound from "../src/Outbound.ts"
import { clauses, isClean, json, run, settings } from "./TestNode.ts"
import { call, callFailing, echo, serve } from "./TestServer.ts"

const isRetryable = (inputs: JsonObject) =>
  Effect.map(Effect.flip(call(inputs)), ({ retryable }) => retryable !== false)

const answering = (type: string, body: string | Uint8Array, status = 200) =>
  serve((_request, response) => {
    response.writeHead(status, type === "" ? {} : { "content-type": type }).end(body)
  })

describe("calls of nodes at once", () => {
  it.live("wait for each other beyond what one host may get at once, and all are answered", () =>
    Effect.gen(function* () {
      const open: Array<ServerResponse> = []
      let most = 0
      let timer: NodeJS.Timeout | undefined
      // Answers once nobody else has come for a while.
      const url = yield* serve((_request, response) => {
        most = Math.max(most, open.push(response))
        clearTimeout(timer)
        timer = setTimeout(() => open.splice(0).forEach((each) => each.end("done")), 30)
      })
      const limits = { ...defaultLimits, callsPerOrigin: 8 }
      const guard = Outbound.layer([{ cidr: "127.0.0.1/32" }]).pipe(
        Layer.provide(Layer.succeed(CurrentLimits, limits)),
      )
      const calls = Array.from({ length: 64 }, () => run(httpRequest, { url }))
      const answers = yield* Effect.provide(Effect.all(calls, { concurrency: "unbounded" }), guard)
      expect(answers.map(({ body }) => body)).toEqual(calls.map(() => "done"))
      expect(most).toBeLessThanOrEqual(8)
    }),
  )
})

describe("the Idempotency-Key of http_request", () => {
  const sent = (inputs: JsonObject) =>
    Effect.gen(function* () {
      const keys: Array<string | undefined> = []
      const url = yield* serve((request, response) => {
        keys.push(request.headersDistinct["idempotency-key"]?.join(", "))
        response.end()
      })
      yield* call({ url, ...inputs })
      yield* call({ url, ...inputs })
      return keys
    })

  it.live("is that of the node run for methods that change something, on every attempt", () =>
    Effect.gen(function* () {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        expect(yield* sent({ method })).toEqual(["run_1:node", "run_1:node"])
      }
      for (const method of ["GET", "HEAD"]) {
        expect(yield* sent({ method })).toEqual([undefined, undefined])
      }
      expect(yield* sent({})).toEqual([undefined, undefined])
    }),
  )

  it.live("is the graph's own where it sets one, in any case", () =>
    Effect.gen(function* () {
      for (const name of ["idempotency-key", "Idempotency-Key", "IDEMPOTENCY-KEY"]) {
        const headers = { [name]: "mine" }
        expect(yield* sent({ method: "POST", headers })).toEqual(["mine", "mine"])
        expect(yield* sent({ method: "GET", headers })).toEqual(["mine", "mine"])
      }
    }),
  )
})

describe("http_request", () => {
  it.live("gets a URL and puts out the answer, with JSON parsed", () =>
    Effect.gen(function* () {
      const url = yield* answering("application/json; charset=utf-8", '{"orders": [1, 2]}')
      const { body, response } = yield* call({ url })
      expect(body).toEqual({ orders: [1, 2] })
      expect(response).toMatchObject({ status: 200 })
      expect(response).toHaveProperty(["headers", "content-type"])
    }),
  )

  it.live("sends method, query, headers and body", () =>
    Effect.gen(function* () {
      const base = yield* serve(echo)
      const sent = yield* call({
        url: `${base}/a?b=1`,
        method: "POST",
        query: { q: "x y&z", n: 2, yes: true },
        body: { a: [1] },
      })
      expect(sent["body"]).toEqual({
        method: "POST",
        url: "/a?b=1&q=x+y%26z&n=2&yes=true",
        type: "application/json",
        agent: "millrace",
        body: '{"a":[1]}',
      })
    }),
  )

  it.live("sends a text as it is, and null as JSON", () =>
    Effect.gen(function* () {
      const url = yield* serve(echo)
      const sent = (inputs: JsonObject) =>
        Effect.map(call({ url, method: "PUT", ...inputs }), ({ body }) => body as JsonObject)
      expect(yield* sent({ body: "grüezi" })).toMatchObject({
        type: "text/plain; charset=utf-8",
        body: "grüezi",
      })
      expect(yield* sent({ body: null })).toMatchObject({ type: "application/json", body: "null" })
      expect(yield* sent({})).toMatchObject({ type: null, body: "" })
      const headers = { "Content-Type": "text/csv", "User-Agent": "mine" }
      expect(yield* sent({ body: "a,b", headers })).toMatchObject({
        type: "text/csv",
        agent: "mine",
        body: "a,b",
      })
    }),
  )

  it.live("reads every kind of JSON as JSON and everything else as text", () =>
    Effect.gen(function* () {
      const bodyOf = (type: string, body: string | Uint8Array) =>
        Effect.gen(function* () {
          return (yield* call({ url: yield* answering(type, body) }))["body"]
        })
      expect(yield* bodyOf("application/problem+json", "[1]")).toEqual([1])
      expect(yield* bodyOf("text/json", "1")).toBe(1)
      expect(yield* bodyOf("application/json", "\ufeff{}")).toEqual({})
      expect(yield* bodyOf("application/json", "")).toBeNull()
      expect(yield* bodyOf("text/html", "<p>{}")).toBe("<p>{}")
      expect(yield* bodyOf("", '{"a":1}')).toBe('{"a":1}')
      expect(yield* bodyOf("text/plain; charset=iso-8859-1", Buffer.from([0xe4]))).toBe("ä")
      expect(yield* bodyOf("text/plain; charset=nonsense", "ä")).toBe("ä")
    }),
  )

  it.live("asks with HEAD and gets no body", () =>
    Effect.gen(function* () {
      const url = yield* answering("application/json", '{"a":1}')
      const { body, response } = yield* call({ url, method: "HEAD" })
      expect(response).toMatchObject({ status: 200 })
      expect(body).toBe(null)
    }),
  )

  it.live("fails outside 2xx, naming status and host, unless any status is accepted", () =>
    Effect.gen(function* () {
      const url = yield* answering("application/json", '{"why":"busy"}', 503)
      expect(yield* callFailing({ url })).toBe("HTTP 503 from 127.0.0.1")
      const { body, response } = yield* call({ url, acceptAnyStatus: true })
      expect(body).toEqual({ why: "busy" })
      expect(response).toMatchObject({ status: 503 })
    }),
  )

  it.live("lets another attempt be made where that can help, and only there", () =>
    Effect.gen(function* () {
      for (const [status, expected] of [
        [500, true],
        [503, true],
        [429, true],
        [408, true],
        [404, false],
        [400, false],
        [301, false],
      ] as const) {
        const url = yield* answering("text/plain", "", status)
        expect(yield* isRetryable({ url }), String(status)).toBe(expected)
      }
      const port = new URL(yield* Effect.scoped(serve(echo))).port
      expect(yield* isRetryable({ url: `http://127.0.0.1:${port}/` })).toBe(true)
      expect(yield* isRetryable({ url: "http://10.0.0.1/" })).toBe(false)
      const large = yield* answering("text/plain", "x".repeat(openWeb.maxBodyBytes + 1))
      expect(yield* isRetryable({ url: large })).toBe(false)
    }),
  )

  it.live("fails with one sentence where the guard refuses or nobody answers", () =>
    Effect.gen(function* () {
      expect(yield* callFailing({ url: "http://169.254.169.254/latest/meta-data" })).toBe(
        "The URL does not lead to a public address",
      )
      expect(yield* callFailing({ url: "http://user:secret@127.0.0.1/" })).toBe(
        "A URL with a user name or a password may not be called",
      )
      const gone = yield* Effect.scoped(serve(echo))
      expect(yield* callFailing({ url: gone })).toBe("The server could not be reached")
    }),
  )

  it.live("gives up after its own timeout", () =>
    Effect.gen(function* () {
      const url = yield* serve(() => {})
      expect(yield* callFailing({ url, timeoutSeconds: 1 })).toBe(
        "No complete answer came within 1 s",
      )
    }),
  )

  it.live("fails when the answer is not what it says it is", () =>
    Effect.gen(function* () {
      const broken = yield* answering("application/json", '{"a":')
      expect(yield* callFailing({ url: broken })).toBe(
        "the answer says that it is JSON, but it is not",
      )
      const packed = yield* serve((_request, response) => {
        response.writeHead(200, { "content-encoding": "gzip" }).end("xx")
      })
      expect(yield* callFailing({ url: packed })).toBe(
        "the answer is encoded as gzip, which was not asked for",
      )
    }),
  )

  it.live("refuses a body where the method has none", () =>
    Effect.gen(function* () {
      for (const method of ["GET", "HEAD"]) {
        expect(yield* callFailing({ url: "https://example.com/", method, body: 1 })).toBe(
          `a ${method} request has no body`,
        )
      }
    }),
  )

  it("says at the start what is wrong with its literals", () => {
    const check = (port: string, value: Json) => clauses(httpRequest, port, value)
    expect(check("url", "https://example.com/a")).toEqual([])
    for (const url of ["example.com", "ftp://example.com", "https://", "javascript:alert(1)", ""]) {
      expect(check("url", url), url).toEqual(["expected an http or https URL"])
    }
    expect(check("method", "TRACE")).toHaveLength(1)
    expect(check("headers", { a: "b" })).toEqual([])
    expect(check("headers", { Host: "evil" })).toEqual(['The header "host" may not be set'])
    expect(check("headers", { a: "b\r\nc: d" })).toEqual([
      'The value of the header "a" is not valid',
    ])
    expect(check("headers", { a: 1 })).toHaveLength(1)
    expect(check("query", { a: [] })).toHaveLength(1)
    for (const seconds of [0, 61, 1.5, "1"])
      expect(check("timeoutSeconds", seconds)).toHaveLength(1)
    expect(check("timeoutSeconds", 60)).toEqual([])
    const { inputs } = httpRequest.type.portsOf(settings({}))
    expect([...inputs.values()].filter(({ required }) => required)).toHaveLength(1)
  })

  it.live("pollutes nothing, whatever it sends and gets", () =>
    Effect.gen(function* () {
      const url = yield* serve((_request, response) => {
        response.setHeader("content-type", "application/json")
        response.end(
          '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}',
        )
      })
      const hostile = json('{"__proto__": "x", "constructor": "y"}')
      const { body } = yield* call({ url, query: hostile, headers: hostile })
      expect(Object.keys(body as JsonObject)).toEqual(["__proto__", "constructor"])
      expect(isClean()).toBe(true)
    }),
  )
})
