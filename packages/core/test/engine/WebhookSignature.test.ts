// Which requests have a right signature: what is signed, how it is written, and how old it may be.
import { usualToleranceSeconds } from "@millrace/core/domain/Limits"
import type { HmacCheck, WebhookCheck } from "@millrace/core/domain/InboundWebhook"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import type { WebhookRequest } from "../../src/engine/internal/WebhookRequest.ts"
import { make, signedText, standardKeyOf } from "../../src/engine/internal/WebhookSignature.ts"

const now = 1_790_000_000_000
const seconds = 1_790_000_000
const secret = "the secret of the sender"
const text = '{"order":"Grüße"}'
const body = new TextEncoder().encode(text)

const requestWith = (headers: WebhookRequest["headers"]): WebhookRequest => ({
  method: "POST",
  headers,
  query: {},
  body,
})

/** Whether a request with these headers is taken for one of the sender. */
const isRight = (check: WebhookCheck, headers: WebhookRequest["headers"], at = secret) =>
  Effect.flatMap(make, (verify) => verify(check, at, requestWith(headers), now))

const signature = (signed: string, algorithm = "sha256", encoding: "hex" | "base64" = "hex") =>
  createHmac(algorithm, secret).update(signed).digest(encoding)

const hmac = (more: Partial<HmacCheck> = {}): HmacCheck => ({
  type: "hmac",
  secret: "name",
  header: "x-signature",
  ...more,
})

/** A fact that holds for each of some cases. */
const holds = (
  name: string,
  expected: boolean,
  cases: ReadonlyArray<readonly [WebhookCheck, WebhookRequest["headers"], string?]>,
) =>
  it.effect(name, () =>
    Effect.gen(function* () {
      for (const [check, headers, at] of cases) {
        const told = JSON.stringify([check, headers, at])
        assert.strictEqual(yield* isRight(check, headers, at), expected, told)
      }
    }),
  )

describe("the HMAC in a header", () => {
  holds("is right in every algorithm and writing that may be set", true, [
    [hmac(), { "x-signature": signature(text) }],
    [hmac(), { "x-signature": signature(text).toUpperCase() }],
    [hmac({ algorithm: "sha1" }), { "x-signature": signature(text, "sha1") }],
    [hmac({ algorithm: "sha512" }), { "x-signature": signature(text, "sha512") }],
    [hmac({ encoding: "base64" }), { "x-signature": signature(text, "sha256", "base64") }],
    [hmac({ prefix: "v0=" }), { "x-signature": `v0=${signature(text)}` }],
    [hmac({ signed: "v0:{body}:end" }), { "x-signature": signature(`v0:${text}:end`) }],
  ])

  holds("is wrong if it is absent, of something else, or written otherwise", false, [
    [hmac(), {}],
    [hmac(), { "x-signature": signature(`${text} `) }],
    [hmac(), { "x-signature": "no hex" }],
    [hmac(), { "x-signature": "" }],
    [hmac({ prefix: "v0=" }), { "x-signature": signature(text) }],
    [hmac({ algorithm: "sha512" }), { "x-signature": signature(text) }],
    [hmac(), { "x-signature": signature(text) }, "another secret"],
  ])

  const timed = hmac({ timestampHeader: "x-time" })
  const sent = (time: number | string, check = timed) =>
    [check, { "x-time": `${time}`, "x-signature": signature(`${time}.${text}`) }] as const

  holds("counts with its time, as long ago or ahead as it may be", true, [
    sent(seconds),
    sent(seconds - usualToleranceSeconds),
    sent(seconds + usualToleranceSeconds),
    sent(seconds - 9, hmac({ timestampHeader: "x-time", toleranceSeconds: 10 })),
  ])

  holds("is wrong too early, too late, without a time, or with one that is no number", false, [
    sent(seconds - usualToleranceSeconds - 1),
    sent(seconds + usualToleranceSeconds + 1),
    sent(seconds - 11, hmac({ timestampHeader: "x-time", toleranceSeconds: 10 })),
    sent(`${seconds} `),
    sent(` ${seconds}`),
    sent("now"),
    sent("1e9"),
    [timed, { "x-signature": signature(`.${text}`) }],
    [timed, { "x-signature": signature(`undefined.${text}`) }],
  ])

  it("signs the body, with its time in front where there is one, unless the owner says", () => {
    assert.strictEqual(signedText(hmac()), "{body}")
    assert.strictEqual(signedText(timed), "{timestamp}.{body}")
    assert.strictEqual(signedText(hmac({ signed: "{body}!" })), "{body}!")
  })
})

describe("Standard Webhooks", () => {
  const standard: WebhookCheck = { type: "standard", secret: "name" }
  const key = Buffer.from(secret).toString("base64")
  const whole = `whsec_${key}`
  const tag = (id = "msg_1", time: number | string = seconds) =>
    `v1,${signature(`${id}.${time}.${text}`, "sha256", "base64")}`
  const headers = (more: WebhookRequest["headers"] = {}) => ({
    "webhook-id": "msg_1",
    "webhook-timestamp": `${seconds}`,
    "webhook-signature": tag(),
    ...more,
  })

  holds("is right with one right signature among five, and with or without whsec_", true, [
    [standard, headers(), whole],
    [standard, headers(), key],
    [standard, headers({ "webhook-signature": `v1,AAAA v2,x v1,? ${tag()}` }), whole],
  ])

  holds("is wrong where a header is absent, old or of something else", false, [
    [standard, headers({ "webhook-id": undefined }), whole],
    [standard, headers({ "webhook-id": undefined, "webhook-signature": tag("undefined") }), whole],
    [standard, headers({ "webhook-id": "msg_2" }), whole],
    [standard, headers({ "webhook-signature": undefined }), whole],
    [standard, headers({ "webhook-timestamp": undefined }), whole],
    [standard, headers({ "webhook-signature": tag().replace("v1,", "v2,") }), whole],
    [standard, headers({ "webhook-signature": tag().replace("v1,", "") }), whole],
    [standard, headers({ "webhook-signature": `a b c d e ${tag()}` }), whole],
    [standard, headers({ "webhook-timestamp": `${seconds - 301}` }), whole],
    [standard, headers(), `${whole}_`],
    [standard, headers(), `x${whole}`],
    [standard, headers(), "whsec_"],
  ])

  it("needs a secret that is base64 and not empty", () => {
    assert.deepStrictEqual(standardKeyOf(whole), new TextEncoder().encode(secret))
    for (const none of ["", "whsec_", "whsec_?", "AAAAwhsec_AAAA", `whsec_whsec_${key}`]) {
      assert.isUndefined(standardKeyOf(none))
    }
  })
})

describe("a bearer token", () => {
  const bearer: WebhookCheck = { type: "bearer", secret: "name" }

  holds("is right behind the word in any case, and as many spaces as there are", true, [
    [bearer, { authorization: `Bearer ${secret}` }],
    [bearer, { authorization: `bearer   ${secret}` }],
  ])

  holds("is wrong without the word in front, with more behind it, or absent", false, [
    [bearer, {}],
    [bearer, { authorization: secret }],
    [bearer, { authorization: `Basic ${secret}` }],
    [bearer, { authorization: `x Bearer ${secret}` }],
    [bearer, { authorization: `Bearer ${secret}x` }],
    [bearer, { authorization: `Bearer ${secret}\n` }],
    [bearer, { authorization: "Bearer " }],
  ])
})

describe("a webhook without a check", () => {
  holds("takes every request", true, [[{ type: "none" }, {}]])
})
