/**
 * What holds for every request and answer: bodies, routes, methods, names, faults.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import * as Engine from "@millrace/core/engine/Engine"
import * as Stores from "@millrace/memory/Stores"
import { Cause, Effect, Layer, Logger } from "effect"
import { inspect } from "node:util"
import type { Answer } from "./Harness.ts"
import { Harness, services, types } from "./Harness.ts"
import { create, hello } from "./Samples.ts"

const json = { "content-type": "application/json" }

const post = Effect.fnUntraced(function* (
  raw: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  headers: Record<string, string> = json,
) {
  const { send, tenant } = yield* Harness
  return yield* send("POST", "/api/v1/workflows", { key: (yield* tenant()).key, raw, headers })
})

const isError = (answer: Answer, status: number, code: string, error?: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.deepStrictEqual(Object.keys(answer.body), ["error"])
  assert.isString(answer.body.error)
  if (error !== undefined) assert.strictEqual(answer.body.error, error)
  assert.match(answer.headers.get("content-type") ?? "", /^application\/json/)
  assert.strictEqual(answer.headers.get("x-error-code"), code)
}

layer(Harness.layer)("bodies", (it) => {
  describe("Body.reader", () => {
    it.effect("refuses what is not JSON with 400 and does not repeat it", () =>
      Effect.gen(function* () {
        for (const raw of ["{", "nope", '{"name":}', "[1,]", '{"name":"secret-9f"', "\0"]) {
          isError(yield* post(raw), 400, "invalid_request", "body: expected valid JSON")
        }
      }),
    )

    it.effect("refuses bytes that are not UTF-8 with 400", () =>
      Effect.gen(function* () {
        const bytes = new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])
        isError(yield* post(bytes), 400, "invalid_request", "body: expected text in UTF-8")
      }),
    )

    it.effect("takes 64 levels and refuses more, naming the field", () =>
      Effect.gen(function* () {
        const nested = (levels: number) =>
          `{"name":"N","x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`
        assert.strictEqual((yield* post(nested(64))).status, 201)
        for (const levels of [65, 20_000, 500_000]) {
          const error = "x: is nested deeper than 64 levels"
          isError(yield* post(nested(levels)), 400, "invalid_request", error)
        }
      }),
    )

    it.effect("takes 100,000 values and refuses one more", () =>
      Effect.gen(function* () {
        const body = (values: number) => `{"name":"N","x":[${"1,".repeat(values - 4)}1]}`
        assert.strictEqual((yield* post(body(100_000))).status, 201)
        const error = "body: has more than 100000 values"
        isError(yield* post(body(100_001)), 400, "invalid_request", error)
        const keys = Array.from({ length: 100_000 }, (_, n) => `"${n}":0`).join(",")
        isError(yield* post(`{${keys}}`), 400, "invalid_request", error)
      }),
    )

    it.effect("refuses numbers beyond all bounds where they are", () =>
      Effect.gen(function* () {
        const answer = yield* post('{"name":"N","nodes":[{"data":{"a b":[0,-1e400]}}]}')
        const error = 'nodes[0].data["a b"][1]: is too large'
        isError(answer, 400, "invalid_request", error)
      }),
    )

    it.effect("keeps opaque data exactly, whatever strings and keys are in it", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const odd = String.raw`"constructor":1,"\ud800":["\udfff"],"":-1.5e-300`
        const data = String.raw`{"__proto__":{"x":"\u0000"},${odd}}`
        const node = `{"id":"a","type":"echo","position":{"x":0,"y":0},"data":${data}}`
        const raw = `{"name":"N","nodes":[${node}]}`
        const made = yield* send("POST", "/api/v1/workflows", { key, raw, headers: json })
        assert.strictEqual(made.status, 201)
        const { body, text } = yield* send("GET", `/api/v1/workflows/${made.body.id}`, { key })
        assert.include(text, JSON.stringify(JSON.parse(data)))
        assert.isTrue(Object.hasOwn(body.nodes[0].data, "__proto__"))
        assert.isUndefined(({} as { x?: unknown }).x)
      }),
    )

    it.effect("refuses NUL and lone surrogates in text that has a bound", () =>
      Effect.gen(function* () {
        const what = "expected text without NUL or lone surrogates"
        for (const bad of [String.raw`\u0000`, String.raw`\ud800`, String.raw`x\udfffy`]) {
          for (const field of ["name", "description"]) {
            const answer = yield* post(`{"name":"N","${field}":"${bad}"}`)
            isError(answer, 400, "invalid_request", `${field}: ${what}`)
          }
        }
      }),
    )

    it.effect("refuses a compressed body with 415", () =>
      Effect.gen(function* () {
        for (const encoding of ["gzip", "br", "identity, gzip"]) {
          const answer = yield* post("{}", { ...json, "content-encoding": encoding })
          isError(answer, 415, "unsupported_content_encoding", "Content-Encoding is not supported")
          assert.strictEqual(answer.headers.get("accept-encoding"), "identity")
        }
        const plain = { ...json, "content-encoding": "Identity" }
        assert.strictEqual((yield* post('{"name":"N"}', plain)).status, 201)
      }),
    )

    it.effect("refuses another content type with 415, whatever the body", () =>
      Effect.gen(function* () {
        const types = [
          "text/plain",
          "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x",
          "application/vnd.api+json",
          "application/jsonp",
          "application/json; charset=latin1",
          "nonsense",
        ]
        for (const type of types) {
          const answer = yield* post('{"name":"N"}', { "content-type": type })
          isError(answer, 415, "unsupported_media_type", "Content-Type must be application/json")
        }
      }),
    )

    it.effect("takes application/json with or without a charset, in any case, or no type", () =>
      Effect.gen(function* () {
        const types = [
          "application/json",
          "application/json;charset=utf-8",
          "Application/JSON; Charset=UTF-8",
          'application/json; charset="utf-8"',
          "application/json; profile=x",
        ]
        for (const type of types) {
          assert.strictEqual((yield* post('{"name":"N"}', { "content-type": type })).status, 201)
        }
        const bytes = new TextEncoder().encode('{"name":"N"}')
        assert.strictEqual((yield* post(bytes, {})).status, 201)
      }),
    )

    it.effect("names at most 20 problems and counts the rest", () =>
      Effect.gen(function* () {
        const answer = yield* post(JSON.stringify({ name: "N", nodes: Array(30).fill(7) }))
        isError(answer, 400, "invalid_request")
        const clauses = answer.body.error.split("; ")
        assert.strictEqual(clauses.length, 21)
        assert.strictEqual(clauses[0], "nodes[0]: expected an object")
        assert.strictEqual(clauses[20], "and 10 more")
      }),
    )

    it.effect("never repeats a value that has the wrong form", () =>
      Effect.gen(function* () {
        const answer = yield* post('{"name":{"secret":"s3cr3t"},"description":["s3cr3t"]}')
        isError(answer, 400, "invalid_request")
        assert.notInclude(answer.text, "s3cr3t")
      }),
    )

    it.effect("reads a body as large as allowed and refuses one byte more with 413", () =>
      Effect.gen(function* () {
        const bodyOf = (size: number) => {
          const frame = '{"name":"N","x":""}'
          return frame.replace('""', `"${"x".repeat(size - frame.length)}"`)
        }
        assert.strictEqual((yield* post(bodyOf(defaultLimits.bodyBytes))).status, 201)
        const answer = yield* post(bodyOf(defaultLimits.bodyBytes + 1))
        isError(answer, 413, "body_too_large", "The body is larger than 1048576 bytes")
      }),
    )

    it.effect("stops reading a body without announced length at the limit", () =>
      Effect.gen(function* () {
        let sent = 0
        const chunk = new Uint8Array(65_536).fill(0x20)
        const stream = new ReadableStream<Uint8Array>({
          pull: (controller) => {
            sent += chunk.length
            controller.enqueue(chunk)
          },
        })
        isError(yield* post(stream), 413, "body_too_large")
        assert.isBelow(sent, 2 * defaultLimits.bodyBytes)
      }),
    )
  })
})

describe("Body.reader under other limits", () => {
  it.effect("takes the limit from CurrentLimits", () =>
    Effect.gen(function* () {
      const answer = yield* post(`{"name":"${"n".repeat(100)}"}`)
      isError(answer, 413, "body_too_large", "The body is larger than 64 bytes")
    }).pipe(
      Effect.provide(
        Harness.layer.pipe(
          Layer.provide(Layer.succeed(CurrentLimits, { ...defaultLimits, bodyBytes: 64 })),
        ),
      ),
    ),
  )
})

layer(Harness.layer)("routes", (it) => {
  describe("ErrorMiddleware.layer", () => {
    it.effect("answers 404 for an address that is not there, without asking for a key", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const paths = [
          "/",
          "/api",
          "/api/v1",
          "/api/v1/nope",
          "/api/v2/runs",
          "/API/V1/runs",
          "/api/v1//runs",
          "/api/v1/runs/x/nope",
          "/api/v1/workflows/%zz",
          "/api/v1/workflows/%ff",
          "/api/v1/workflows/",
          "/api/v1/Workflows",
          "/api/v1/workflows;limit=1",
          "/api/v1/workflows/x;y",
          "//api/v1/workflows",
          "/api/v1/workflows/x//duplicate",
        ]
        for (const path of paths) {
          for (const method of ["GET", "POST", "DELETE"]) {
            const answer = yield* send(method, path)
            isError(answer, 404, "unknown_route", "There is nothing at this address")
          }
        }
      }),
    )

    it.effect(
      "refuses a query that is not UTF-8, and ignores parameters that it does not know",
      () =>
        Effect.gen(function* () {
          const { send, tenant } = yield* Harness
          const { key } = yield* tenant()
          for (const bad of ["%ff", "%zz", "%", "%ed%a0%80", "%c0%80"]) {
            const answer = yield* send("GET", `/api/v1/runs?search=${bad}`, { key })
            isError(answer, 400, "invalid_request", "query: expected percent-encoded UTF-8")
          }
          for (const other of [
            "__proto__=1",
            "constructor[x]=1",
            "limit[]=0",
            "x",
            "&&=",
            "%20=a",
          ]) {
            assert.strictEqual((yield* send("GET", `/api/v1/runs?${other}`, { key })).status, 200)
          }
        }),
    )

    const allowed: ReadonlyArray<readonly [string, string]> = [
      ["/api/v1/workflows", "GET, HEAD, POST"],
      ["/api/v1/workflows/wf_1", "GET, HEAD, PATCH, DELETE"],
      ["/api/v1/workflows/wf_1/duplicate", "POST"],
      ["/api/v1/workflows/wf_1/nodes", "POST"],
      ["/api/v1/workflows/wf_1/validate", "POST"],
      ["/api/v1/runs", "GET, HEAD, POST"],
      ["/api/v1/runs/batch", "POST"],
      ["/api/v1/runs/run_1", "GET, HEAD"],
      ["/api/v1/runs/run_1/events", "GET, HEAD"],
      ["/api/v1/runs/run_1/cancel", "POST"],
      ["/api/v1/node-types", "GET, HEAD"],
      ["/api/openapi.json", "GET, HEAD"],
      ["/api/docs", "GET, HEAD"],
      ["/healthz", "GET, HEAD"],
      ["/readyz", "GET, HEAD"],
    ]
    for (const [path, methods] of allowed) {
      it.effect(`answers 405 at ${path} with Allow: ${methods}`, () =>
        Effect.gen(function* () {
          const { send } = yield* Harness
          const all = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]
          for (const method of all.filter((each) => !methods.split(", ").includes(each))) {
            const answer = yield* send(method, path)
            assert.strictEqual(answer.status, 405)
            assert.strictEqual(answer.headers.get("allow"), methods)
            if (method !== "HEAD") isError(answer, 405, "method_not_allowed")
          }
        }),
      )
    }

    it.effect("answers HEAD like GET, without a body", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const owner = yield* tenant()
        const path = `/api/v1/workflows/${yield* create(owner, hello)}`
        const head = yield* send("HEAD", path, { key: owner.key })
        assert.strictEqual(head.status, 200)
        assert.strictEqual(head.headers.get("etag"), '"1"')
        assert.strictEqual(head.text, "")
      }),
    )

    it.effect("names every answer, each differently", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const answers = [
          yield* send("GET", "/healthz"),
          yield* send("GET", "/api/v1/runs", { key }),
          yield* send("GET", "/api/v1/runs"),
          yield* send("GET", "/nope"),
          yield* send("PUT", "/api/v1/runs"),
          yield* send("GET", "/api/v1/runs?limit=0", { key }),
        ]
        const names = answers.map(({ headers }) => headers.get("x-request-id") ?? "")
        for (const name of names) assert.match(name, /^req_[0-9a-z_]{1,60}$/)
        assert.strictEqual(new Set(names).size, answers.length)
        for (const { headers } of answers) {
          assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
          assert.isNull(headers.get("access-control-allow-origin"))
        }
      }),
    )
  })

  describe("Health.layer", () => {
    it.effect("answers 200 without a key", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        for (const path of ["/healthz", "/readyz"]) {
          const { body, status } = yield* send("GET", path)
          assert.strictEqual(status, 200)
          assert.deepStrictEqual(body, { status: "ok" })
        }
      }),
    )
  })
})

const failure = new StorageError({ operation: "test", cause: new Error("password=hunter2") })

/** Stores of which some methods do not work. */
const brokenStores = Layer.mergeAll(
  Layer.effect(
    WorkflowStore,
    Effect.map(WorkflowStore, (store) =>
      WorkflowStore.of({
        ...store,
        find: () => Effect.fail(failure),
        list: () => Effect.die(new Error("hunter2")),
      }),
    ),
  ),
  Layer.effect(
    RunStore,
    Effect.map(RunStore, (store) =>
      RunStore.of({ ...store, findMany: () => Effect.fail(failure) }),
    ),
  ),
).pipe(Layer.provideMerge(services))

const brokenKeys = Engine.layerWithoutWebhooks.pipe(
  Layer.provideMerge(
    Layer.effect(
      KeyStore,
      Effect.map(KeyStore, (store) => KeyStore.of({ ...store, admit: () => Effect.fail(failure) })),
    ),
  ),
  Layer.provideMerge(Layer.mergeAll(Stores.layer, types)),
)

/** The interface over these services, and what it logs. */
const over = <E>(broken: Layer.Layer<Layer.Success<typeof services>, E>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, message }) => {
    lines.push(inspect(message, { depth: 9 }) + Cause.pretty(cause))
  })
  const layer = Harness.layerNoDeps.pipe(
    Layer.provideMerge(broken),
    Layer.provideMerge(Logger.layer([logger])),
  )
  return { lines, layer }
}

describe("ErrorMiddleware.layer over stores that fail", () => {
  const unavailable = "The store is unavailable; try again"

  it.effect("answers 503 and tells only the log why", () => {
    const { layer, lines } = over(brokenStores)
    return Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { key } = yield* tenant()
      const answers = [
        yield* send("GET", "/api/v1/workflows/wf_1", { key }),
        yield* send("POST", "/api/v1/runs/batch", { key, json: { ids: ["run_1"] } }),
        yield* send("GET", "/readyz"),
      ]
      for (const answer of answers) isError(answer, 503, "store_unavailable", unavailable)
      assert.strictEqual(lines.length, 3)
      answers.forEach(({ headers }, index) => {
        assert.include(lines[index] ?? "", headers.get("x-request-id") ?? "a name")
        assert.include(lines[index] ?? "", "hunter2")
      })
    }).pipe(Effect.provide(layer))
  })

  it.effect("answers 503 where the key cannot be looked up", () => {
    const { layer } = over(brokenKeys)
    return Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { key } = yield* tenant()
      isError(yield* send("GET", "/api/v1/runs", { key }), 503, "store_unavailable", unavailable)
    }).pipe(Effect.provide(layer))
  })

  it.effect("answers 500 for what broke and tells only the log what", () => {
    const { layer, lines } = over(brokenStores)
    return Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { key } = yield* tenant()
      const answer = yield* send("GET", "/api/v1/workflows", { key })
      isError(answer, 500, "internal_error", "Internal error")
      assert.isNotNull(answer.headers.get("x-ratelimit-remaining"))
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0] ?? "", answer.headers.get("x-request-id") ?? "a name")
      assert.include(lines[0] ?? "", "hunter2")
    }).pipe(Effect.provide(layer))
  })
})
