/**
 * Whether a request comes from the sender of an inbound webhook.
 *
 * Guarantees: a signature is checked over the bytes as they came, and nothing is compared in a time
 * that tells how much of it was right. Leaves out: where the secret comes from.
 */
import { Effect, Layer, Result } from "effect"
import { Mac, SecureRandom } from "effect/crypto"
import * as Base64 from "effect/encoding/Base64"
import * as Hex from "effect/encoding/Hex"
import type { HmacCheck, WebhookCheck } from "../../domain/InboundWebhook.ts"
import { usualToleranceSeconds } from "../../domain/Limits.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { WebhookRequest } from "./WebhookRequest.ts"

const algorithms = { sha1: Mac.hmacSha1, sha256: Mac.hmacSha256, sha512: Mac.hmacSha512 } as const

const encoder = new TextEncoder()

/** What an HMAC signs where its owner does not say. */
export const signedText = ({ signed, timestampHeader }: HmacCheck): string =>
  signed ?? (timestampHeader === undefined ? "{body}" : "{timestamp}.{body}")

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The signed bytes: a text around the body. */
const signedBytes = (text: string, timestamp: string, body: Uint8Array): Uint8Array => {
  const [before = "", after = ""] = text
    .split("{body}")
    .map((part) => part.replaceAll("{timestamp}", timestamp))
  return joined([encoder.encode(before), body, encoder.encode(after)])
}

const decoded = (encoding: "hex" | "base64", text: string): Uint8Array | undefined => {
  const bytes = encoding === "hex" ? Hex.decode(text) : Base64.decode(text)
  return Result.getOrUndefined(bytes)
}

const isInTime = (text: string | undefined, now: Timestamp, tolerance: number): boolean =>
  text !== undefined && /^\d{1,12}$/.test(text) && Math.abs(now / 1_000 - Number(text)) <= tolerance

/** What a signature is checked with. */
interface Signed {
  readonly algorithm: Mac.Algorithm
  readonly key: Uint8Array
  readonly data: Uint8Array
  /** One of them has to be right. */
  readonly tags: ReadonlyArray<Uint8Array>
}

/** What of a request is checked against the HMAC in its header; `undefined`: it cannot be right. */
const ofHmac = (check: HmacCheck, secret: string, request: WebhookRequest, now: Timestamp) => {
  const { algorithm = "sha256", encoding = "hex", header, prefix = "", timestampHeader } = check
  const given = request.headers[header]
  if (given === undefined || !given.startsWith(prefix)) return undefined
  const tag = decoded(encoding, given.slice(prefix.length))
  const time = timestampHeader === undefined ? undefined : request.headers[timestampHeader]
  const tolerance = check.toleranceSeconds ?? usualToleranceSeconds
  if (tag === undefined || (timestampHeader !== undefined && !isInTime(time, now, tolerance))) {
    return undefined
  }
  const data = signedBytes(signedText(check), time ?? "", request.body)
  return { algorithm: algorithms[algorithm], key: encoder.encode(secret), data, tags: [tag] }
}

/** The key of Standard Webhooks in a secret; `undefined` if it has none. */
export const standardKeyOf = (secret: string): Uint8Array | undefined => {
  const key = decoded("base64", secret.replace(/^whsec_/, ""))
  return key === undefined || key.length === 0 ? undefined : key
}

/** The same for the headers of Standard Webhooks. */
const ofStandard = (
  tolerance: number,
  secret: string,
  { body, headers }: WebhookRequest,
  now: Timestamp,
): Signed | undefined => {
  const { "webhook-id": id, "webhook-signature": given, "webhook-timestamp": time } = headers
  const key = standardKeyOf(secret)
  if (id === undefined || given === undefined || key === undefined) return undefined
  if (!isInTime(time, now, tolerance)) return undefined
  const tags = given
    .split(" ")
    .slice(0, signaturesRead)
    .flatMap((each) => (each.startsWith("v1,") ? (decoded("base64", each.slice(3)) ?? []) : []))
  const data = joined([encoder.encode(`${id}.${time}.`), body])
  return { algorithm: Mac.hmacSha256, key, data, tags }
}

/** Signatures of one request that are tried; a sender that changes its secret has two. */
const signaturesRead = 5

const isBearer = (secret: string, { headers }: WebhookRequest) => {
  const given = /^bearer +(.+)$/i.exec(headers["authorization"] ?? "")?.[1] ?? ""
  return { algorithm: Mac.hmacSha256, key: encoder.encode(secret), given }
}

/** Makes the check of requests against a secret. */
export const make = Effect.gen(function* () {
  const mac = yield* Mac.Mac
  const isSigned = Effect.fnUntraced(function* ({ algorithm, data, key: bytes, tags }: Signed) {
    const key = yield* Mac.key(algorithm, bytes)
    const right = yield* Effect.forEach(tags, (tag) => mac.verify(key, tag, data))
    return right.includes(true)
  })
  // Two texts are compared by their HMACs, because their lengths differ.
  const isSame = Effect.fnUntraced(function* (secret: string, request: WebhookRequest) {
    const { algorithm, given, key: bytes } = isBearer(secret, request)
    const key = yield* Mac.key(algorithm, bytes)
    const expected = yield* mac.sign(key, encoder.encode(secret))
    return yield* mac.verify(key, expected, encoder.encode(given))
  })
  return (check: WebhookCheck, secret: string, request: WebhookRequest, now: Timestamp) => {
    if (check.type === "none") return Effect.succeed(true)
    if (check.type === "bearer") return Effect.orDie(isSame(secret, request))
    const signed =
      check.type === "hmac"
        ? ofHmac(check, secret, request, now)
        : ofStandard(check.toleranceSeconds ?? usualToleranceSeconds, secret, request, now)
    return signed === undefined ? Effect.succeed(false) : Effect.orDie(isSigned(signed))
  }
}).pipe(Effect.provide(Layer.provide(Mac.layerWebCrypto, SecureRandom.layerWebCrypto)))
