/**
 * API keys (specification 2.8 and part 5): a secret that is shown once, of which only a hash stays.
 *
 * The secret is `mr_`, 43 base62 digits of 32 random bytes, and 6 base62 digits of the CRC-32 of
 * those 43, so that junk is refused without a look-up. Leaves out: randomness and hashing; both are
 * services.
 */
import { Schema } from "effect"
import { AccountId, KeyId } from "./Id.ts"
import { PerDay, PerMinute } from "./Quota.ts"
import { Timestamp } from "./Timestamp.ts"

/** A key's label: 1 to 100 characters without blanks around it, unique within the account. */
export const KeyLabel = Schema.Trimmed.check(Schema.isMinLength(1), Schema.isMaxLength(100))

/** What is stored and shown of a key; never the secret. */
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
})
export type ApiKey = typeof ApiKey.Type

/** At most so many keys of an account are neither revoked nor expired (specification, part 8). */
export const liveKeysPerAccount = 10

/** What every secret begins with. */
export const secretPrefix = "mr_"

/** How many characters of a secret are shown later. */
export const shownLength = 12

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const bodyLength = 43
const checkLength = 6

const base62 = (value: bigint, length: number): string => {
  let rest = value
  let text = ""
  while (text.length < length) {
    text = digits.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}

const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index)
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1))
  }
  return (crc ^ 0xffffffff) >>> 0
}

const checksum = (body: string): string => base62(BigInt(crc32(body)), checkLength)

/** The secret made of 32 random bytes. */
export const secretOf = (random: Uint8Array): string => {
  let value = 0n
  for (const byte of random) value = (value << 8n) | BigInt(byte)
  const body = base62(value, bodyLength)
  return secretPrefix + body + checksum(body)
}

/** True when a text could be a secret: its form and its checksum are right. */
export const isWellFormed = (secret: string): boolean => {
  if (!secret.startsWith(secretPrefix)) return false
  const rest = secret.slice(secretPrefix.length)
  if (rest.length !== bodyLength + checkLength) return false
  const body = rest.slice(0, bodyLength)
  return checksum(body) === rest.slice(bodyLength)
}

/** The part of a secret that may be shown later. */
export const prefixOf = (secret: string): string => secret.slice(0, shownLength)

/** True for a key that admits requests at this time. */
export const isLive = (key: ApiKey, now: Timestamp): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now)
