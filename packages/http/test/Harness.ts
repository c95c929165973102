/**
 * The whole interface in one process for tests: the real engine over stores in memory, requests
 * through the web handler, time by the test clock.
 */
import { approvalMessage, approvalType } from "@millrace/core/domain/Approval"
import type { AccountId } from "@millrace/core/domain/Id"
import type { Quota } from "@millrace/core/domain/Quota"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import * as Engine from "@millrace/core/engine/Engine"
import { Keys } from "@millrace/core/engine/Keys"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Vault } from "@millrace/core/ports/Vault"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import * as WebHandler from "@millrace/http/WebHandler"
import * as Stores from "@millrace/memory/Stores"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { Digest } from "effect/crypto"

/** Hands its input on. */
const echo = define({
  key: "echo",
  name: "Echo",
  description: "Hands its input on.",
  category: "data",
  inputs: { input: Schema.optionalKey(Schema.Any), text: Schema.optionalKey(Schema.String) },
  outputs: { output: Schema.Any },
  credits: 0.25,
  run: ({ input, text }) => Effect.succeed({ output: input ?? text ?? null }),
})

/** Cannot execute without its input; has modes. */
const measure = define({
  key: "measure",
  icon: "ruler",
  docs: "https://example.com/measure",
  modes: ["length", "words"],
  inputs: { text: Schema.String },
  outputs: { count: Schema.Int },
  run: ({ text }, mode) =>
    Effect.succeed({ count: mode === "words" ? text.split(" ").length : text.length }),
})

/** Never ends by itself. */
const hang = define({ key: "hang", inputs: {}, outputs: {}, run: () => Effect.never })

/** Takes anything, and holds it for ten seconds. */
const hold = define({
  key: "hold",
  inputs: { input: Schema.optionalKey(Schema.Any), text: Schema.optionalKey(Schema.String) },
  outputs: { output: Schema.Any },
  run: ({ input }) => Effect.as(Effect.sleep("10 seconds"), { output: input ?? null }),
})

/** Always fails. */
const broken = define({
  key: "broken",
  inputs: {},
  outputs: {},
  run: () => Effect.fail(new Error("broken on purpose")),
})

/** Asks Ann and editors, whatever it is given; the built-in type is tested with the engine. */
const asking = define({
  key: approvalType,
  inputs: { text: Schema.optionalKey(Schema.Any) },
  outputs: { output: Schema.Any },
  run: () =>
    Effect.gen(function* () {
      const node = yield* CurrentNode
      if (node.message !== undefined) return { output: null }
      const at = { approver: 0, version: 0, tokenHash: null }
      const { tokenHash } = yield* node.approvalLink(at)
      const state = {
        asks: approvalType,
        title: "Sure?",
        askedAt: 0,
        expiresAt: null,
        mailAt: null,
        reminders: 0,
        waitsUntil: null,
        approvers: [{ address: "ann@example.com", version: 0, mails: 0, tries: 0, tokenHash }],
        roles: ["editor"],
        mayDelegate: false,
      }
      return yield* node.suspend({ for: approvalMessage(node.nodeId) }, state)
    }),
})

/** The node types of the tests. */
export const types = NodeTypes.layer(echo, measure, hang, hold, broken, asking)

/** Engine and stores, with what judges webhooks and seals secrets. */
export const servicesWith = (webhooks: ReturnType<typeof Engine.withoutWebhooks>) =>
  Engine.layer.pipe(
    Layer.provide([webhooks, Digest.layerWebCrypto]),
    Layer.provideMerge(Layer.mergeAll(Stores.layer, types)),
  )

/** A vault that signs, and seals nothing. */
const signing = Layer.effect(
  Vault,
  Effect.map(Vault, (closed) => ({
    ...closed,
    sign: (purpose: string, text: string) => Effect.succeed([`${purpose}-${text.length}`]),
  })),
).pipe(Layer.provide(Vault.layerClosed))

export const services = servicesWith(Layer.merge(Engine.withoutWebhooks(), signing))

/** Accepts every address; nobody sends anything. */
export const anyTarget = Layer.merge(
  Vault.layerClosed,
  Layer.succeed(WebhookTargets, {
    accept: ({ url }) => Effect.succeed({ url, origin: new URL(url).origin }),
  }),
)

/** An answer, read. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as JSON; `undefined` when it is empty. */
  readonly body: any
}

/** What a request is made of besides method and path. */
export interface Parts {
  readonly key?: string | undefined
  /** Sent as JSON text. */
  readonly json?: unknown
  /** Sent as it is. */
  readonly raw?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
  readonly headers?: Record<string, string>
}

/** An account and one of its keys. */
export interface Tenant {
  readonly accountId: AccountId
  readonly key: string
}

const bodyOf = ({ json, raw }: Parts) => (json === undefined ? (raw ?? null) : JSON.stringify(json))

const requestOf = (method: string, path: string, parts: Parts): Request =>
  new Request(`http://localhost${path}`, {
    method,
    body: bodyOf(parts),
    headers: {
      ...(parts.key === undefined ? {} : { authorization: `Bearer ${parts.key}` }),
      ...(parts.json === undefined ? {} : { "content-type": "application/json" }),
      ...parts.headers,
    },
    ...(parts.raw instanceof ReadableStream ? { duplex: "half" } : {}),
  })

/** The first event of a stream that ends only with its time; its reader hangs up then. */
const firstEvent = async (body: ReadableStream<Uint8Array>): Promise<string> => {
  const reader = body.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value)
}

const isEndless = (path: string, { headers }: Response): boolean =>
  /^\/api\/(?:console\/)?v1\/(?:runs|workflows\/[^/]+)\/live/.test(path) &&
  headers.get("content-type") === "text/event-stream"

const read = async (path: string, response: Response): Promise<Answer> => {
  const text = isEndless(path, response) ? await firstEvent(response.body!) : await response.text()
  const { headers, status } = response
  const isJson = headers.get("content-type")?.startsWith("application/json") === true
  return { status, headers, text, body: isJson && text !== "" ? JSON.parse(text) : undefined }
}

/** The interface under test. */
export class Harness extends Context.Service<
  Harness,
  {
    readonly handler: WebHandler.Handler
    readonly send: (method: string, path: string, parts?: Parts) => Effect.Effect<Answer>
    /** A new account with a key. */
    readonly tenant: (quota?: Partial<Quota>) => Effect.Effect<Tenant>
  }
>()("@millrace/http/test/Harness") {
  /** Over services that the test brings. */
  static readonly layerNoDeps = Layer.effect(
    Harness,
    Effect.gen(function* () {
      const handler = yield* WebHandler.make()
      const keys = yield* Keys
      return Harness.of({
        handler,
        send: (method, path, parts = {}) =>
          Effect.promise(async () => read(path, await handler(requestOf(method, path, parts)))),
        tenant: Effect.fnUntraced(function* (quota = { perMinute: 10_000, perDay: 100_000 }) {
          const { id } = yield* keys.createAccount("Test")
          const { secret } = yield* keys.create(id, { label: "first", ...quota })
          return { accountId: id, key: Redacted.value(secret) }
        }, Effect.orDie),
      })
    }),
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provideMerge(services))
}
