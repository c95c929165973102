/**
 * Signatures as Standard Webhooks defines them: HMAC-SHA256 over identifier, time and body
 * (specification 6.2, rule 6).
 *
 * Guarantees: the signed bytes are the bytes that are sent. Leaves out: the origin of secrets, and
 * verification, which receivers do.
 */
import { secretPrefix } from "@millrace/core/engine/Webhooks"
import type { KeyObject } from "node:crypto"
import { createHmac } from "node:crypto"

/** The key in the text of a secret, which is `whsec_` and base64. */
export const keyOf = (secret: string): Uint8Array =>
  Buffer.from(
    secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret,
    "base64",
  )

/** The bytes of a key, or a key object: making one takes time, so callers keep it. */
export type SigningKey = Uint8Array | KeyObject

/** The parts of a request that are signed. */
export interface SignedMessage {
  readonly id: string
  /** Seconds since the epoch. */
  readonly timestampSeconds: number
  readonly body: Uint8Array
}

/** The value of `webhook-signature`: one signature for each key, in the order of the keys. */
export const sign = (
  { body, id, timestampSeconds }: SignedMessage,
  keys: ReadonlyArray<SigningKey>,
): string =>
  keys
    .map((key) => {
      const mac = createHmac("sha256", key).update(`${id}.${timestampSeconds}.`).update(body)
      return `v1,${mac.digest("base64")}`
    })
    .join(" ")
