/**
 * Signatures after Standard Webhooks: HMAC-SHA256 over identifier, time and body (specification
 * 6.2, rule 6).
 *
 * Guarantees: what is signed are the very bytes that are sent. Leaves out: where secrets come from,
 * and verifying; receivers do that.
 */
import { secretPrefix } from "@millrace/core/engine/Webhooks"
import type { KeyObject } from "node:crypto"
import { createHmac } from "node:crypto"

/** The key of a secret in its text form, `whsec_` and base64. */
export const keyOf = (secret: string): Uint8Array =>
  Buffer.from(
    secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret,
    "base64",
  )

/** A key's bytes, or what was made of them once, because that takes time. */
export type SigningKey = Uint8Array | KeyObject

/** What is signed. */
export interface Message {
  readonly id: string
  /** Seconds since the epoch. */
  readonly timestampSeconds: number
  readonly body: Uint8Array
}

/** The value of `webhook-signature`: one signature for each key, in their order. */
export const sign = (
  { body, id, timestampSeconds }: Message,
  keys: ReadonlyArray<SigningKey>,
): string =>
  keys
    .map((key) => {
      const mac = createHmac("sha256", key).update(`${id}.${timestampSeconds}.`).update(body)
      return `v1,${mac.digest("base64")}`
    })
    .join(" ")
