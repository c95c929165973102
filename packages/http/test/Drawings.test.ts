/**
 * What editors send as it comes out of them, React Flow before all others: `null` for what is not
 * there, objects that are still empty, pictures in the address, names in any script.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { anyTarget, Harness, servicesWith } from "./Harness.ts"
import { chain, create, finish, hello } from "./Samples.ts"

const mounted = Harness.layerNoDeps.pipe(Layer.provideMerge(servicesWith(anyTarget)))

const begin = Effect.fnUntraced(function* (content: object = hello) {
  const { send, tenant } = yield* Harness
  const owner = yield* tenant()
  const id = yield* create(owner, content)
  const ask = (method: string, path: string, json?: unknown) =>
    send(method, `/api/v1${path}`, { key: owner.key, json })
  const patch = (change: object) => ask("PATCH", `/workflows/${id}`, change)
  return { owner, id, ask, patch }
})

const withNullHandles = [
  { id: "e1", source: "say", sourceHandle: null, target: "count", targetHandle: "text" },
]

layer(mounted)("drawings as editors save them", (it) => {
  describe("handles", () => {
    it.effect("reads a handle that is null as an absent one, and answers without it", () =>
      Effect.gen(function* () {
        const { ask, id, owner, patch } = yield* begin({ ...chain, edges: withNullHandles })
        const expected = [{ id: "e1", source: "say", target: "count", targetHandle: "text" }]
        assert.deepStrictEqual((yield* ask("GET", `/workflows/${id}`)).body.edges, expected)
        const changed = yield* patch({ edges: withNullHandles })
        assert.deepStrictEqual(changed.body.edges, expected)
        assert.strictEqual(changed.headers.get("etag"), `"1"`)
        const run = yield* ask("GET", `/runs/${yield* finish(owner, id)}`)
        assert.strictEqual(run.body.status, "COMPLETED")
      }),
    )

    it.effect("names what else a handle cannot be", () =>
      Effect.gen(function* () {
        const { patch } = yield* begin()
        const { body, status } = yield* patch({
          edges: [{ ...withNullHandles[0], sourceHandle: 1 }],
        })
        assert.deepStrictEqual(
          [status, body.error],
          [400, "edges[0].sourceHandle: expected a string or null"],
        )
      }),
    )
  })

  describe("starts", () => {
    it.effect("takes a viewport that is still empty, and gives it back", () =>
      Effect.gen(function* () {
        const { ask, id, owner } = yield* begin()
        const run = yield* ask("GET", `/runs/${yield* finish(owner, id, { viewport: {} })}`)
        assert.deepStrictEqual(run.body.context.viewport, {})
      }),
    )

    it.effect("takes webhook.metadata that is null as none", () =>
      Effect.gen(function* () {
        const { ask, id, owner } = yield* begin()
        const webhook = { url: "https://receiver.example/hook", metadata: null }
        const runId = yield* finish(owner, id, { webhook })
        assert.strictEqual((yield* ask("GET", `/runs/${runId}`)).body.status, "COMPLETED")
      }),
    )
  })

  describe("thumbnailUrl", () => {
    const png = (characters: number) => {
      const head = "data:image/png;base64,"
      const body = "A".repeat(characters - head.length - 2)
      return `${head}${body}==`
    }

    it.effect("takes a PNG, a JPEG or a WebP in the address, up to 32 KiB", () =>
      Effect.gen(function* () {
        const { patch } = yield* begin()
        const largest = png(32_766)
        for (const thumbnailUrl of [
          largest,
          "data:image/jpeg;base64,/9j/4AAQSkZJRg==",
          "DATA:image/webp;base64,UklGRg==",
        ]) {
          const { body, status } = yield* patch({ thumbnailUrl })
          assert.strictEqual(status, 200)
          assert.isTrue(body.thumbnailUrl === thumbnailUrl)
        }
        assert.strictEqual((yield* patch({ thumbnailUrl: png(32_770) })).status, 400)
      }),
    )

    it.effect.each([
      "data:image/svg+xml;base64,PHN2Zz4=",
      "data:image/svg+xml,<svg onload='alert(1)'/>",
      "data:text/html;base64,PHNjcmlwdD4=",
      "data:image/png,raw",
      "data:image/png;base64,not base64!",
      "data:image/png;base64,AAA",
      `https://example.com/${"x".repeat(2_048)}`,
    ])("refuses %s", (thumbnailUrl) =>
      Effect.gen(function* () {
        const { patch } = yield* begin()
        const { body, status } = yield* patch({ thumbnailUrl })
        assert.strictEqual(status, 400)
        assert.match(body.error, /^thumbnailUrl: expected an http\(s\) URL of at most 2048/)
      }),
    )
  })

  describe("names", () => {
    it.effect("counts the code points of a name, as the document says", () =>
      Effect.gen(function* () {
        const { ask, id, patch } = yield* begin()
        const name = "\u{1F9EC}".repeat(120)
        assert.strictEqual((yield* patch({ name })).body.name, name)
        assert.strictEqual((yield* patch({ name: `${name}x` })).status, 400)
        const copy = yield* ask("POST", `/workflows/${id}/duplicate`)
        assert.strictEqual(copy.body.name, `${"\u{1F9EC}".repeat(113)} (copy)`)
      }),
    )
  })
})
