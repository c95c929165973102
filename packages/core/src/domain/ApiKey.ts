/**
 * API keys (specification 2.8 and part 5). A key's secret is shown once; only its hash is stored.
 *
 * The secret is a prefix such as `mr_`, 43 base62 digits of 32 random bytes, and 6 base62 digits of
 * the CRC-32 of all that. With the checksum, most wrong texts are refused without a look-up. The
 * prefix helps people and programs to recognize leaked secrets; it may differ from key to key.
 * Leaves out: randomness and hashing; both are services.
 */
import { Context, Schema } from "effect"
import { AccountId, KeyId } from "./Id.ts"
import { keyLabelLength } from "./Limits.ts"
import { PerDay, PerMinute } from "./Quota.ts"
import { isAtMost } from "./TextLength.ts"
import { Timestamp } from "./Timestamp.ts"

/** A key's label: 1 to 100 characters without blanks around it, unique within the account. */
export const KeyLabel = Schema.Trimmed.check(Schema.isMinLength(1), isAtMost(keyLabelLength))

/** A key as it is stored and shown, without its secret. */
export const ApiKey = Schema.Struct({
  id: KeyId,
  accountId: AccountId,
  label: KeyLabel,
  /** The first characters of the secret. */
  prefix: Schema.String,
  perMinute: PerMinute,
  perDay: PerDay,
  expiresAt: Schema.NullOr(Timestamp),
  revokedAt: Schema.NullOr(Timestamp),
  createdAt: Timestamp,
  /** When it last admitted a request; `null` if it never did. */
  lastUsedAt: Schema.NullOr(Timestamp),
})
export type ApiKey = typeof ApiKey.Type

/** A prefix of secrets: 2 to 16 of a-z, 0-9 and _, a letter first and an _ at the end. */
export const SecretPrefix = Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_]{0,14}_$/))

/** The prefix of new secrets. */
export const CurrentSecretPrefix = Context.Reference<string>(
  "@millrace/core/domain/CurrentSecretPrefix",
  { defaultValue: () => "mr_" },
)

/** How many characters of a secret are shown later. */
export const shownLength = 12

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const bodyLength = 43
const checkLength = 6

/** The last digits of a number in base 62. */
const base62 = (value: bigint, length: number): string => {
  let rest = value
  let text = ""
  while (text.length < length) {
    text = digits.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}

/** The CRC-32 of each byte, precomputed, because every request computes a checksum. */
const crcOfByte = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1))
  return crc
})

const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index++) {
    crc = (crc >>> 8) ^ crcOfByte[(crc ^ text.charCodeAt(index)) & 0xff]!
  }
  return (crc ^ 0xffffffff) >>> 0
}

const checksum = (checked: string): string => base62(BigInt(crc32(checked)), checkLength)

/** The secret made of 32 random bytes, behind a prefix. */
export const secretOf = (random: Uint8Array, prefix: string): string => {
  let value = 0n
  for (const byte of random) value = (value << 8n) | BigInt(byte)
  const text = prefix + base62(value, bodyLength)
  return text + checksum(text)
}

const form = /^[a-z][a-z0-9_]{0,14}_[0-9A-Za-z]{49}$/

/** True if a text has the form and the checksum of a secret, with any prefix. */
export const isWellFormed = (secret: string): boolean => {
  if (!form.test(secret)) return false
  return secret.endsWith(checksum(secret.slice(0, -checkLength)))
}

/** The part of a secret that may be shown later. */
export const prefixOf = (secret: string): string => secret.slice(0, shownLength)

/** True for a key that admits requests at this time. */
export const isLive = (key: ApiKey, now: Timestamp): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now)

/** True if one of these keys has the label; case does not count. */
export const hasLabel = (keys: ReadonlyArray<ApiKey>, label: string): boolean =>
  keys.some((key) => key.label.toLowerCase() === label.toLowerCase())
