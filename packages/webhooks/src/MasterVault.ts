/**
 * A vault whose key comes from configuration: AES-256-GCM.
 *
 * Guarantees: every seal has a nonce of its own, carries the name of its key, and opens only with
 * that key and for the purpose it was made for. Leaves out: keeping the master key safe, and
 * replacing seals when it changes; older keys go on opening theirs as long as they are configured.
 */
import { CurrentVault, type Vault, VaultClosed } from "@millrace/core/ports/Vault"
import { Effect, Layer, Redacted } from "effect"
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const version = "v1"

/** A master key and the name under which seals refer to it. */
interface MasterKey {
  readonly id: string
  readonly key: Buffer
}

/** What a master key has to look like. */
export const masterKeyForm = "32 bytes as base64 or as 64 hexadecimal digits"

const bytesOf = (text: string): Buffer | undefined => {
  const isHex = /^[\da-f]{64}$/i.test(text)
  if (!isHex && !/^[\w+/-]{43}=?$/.test(text)) return undefined
  const bytes = Buffer.from(text, isHex ? "hex" : "base64")
  return bytes.length === keyBytes ? bytes : undefined
}

/** The keys in a text, separated by commas, newest first; `undefined` where one makes no sense. */
const keysOf = (text: string): ReadonlyArray<MasterKey> | undefined => {
  const keys = text.split(",").map((part) => bytesOf(part.trim()))
  if (!keys.every((key) => key !== undefined)) return undefined
  return keys.map((key) => {
    const name = createHash("sha256").update("millrace master key").update(key).digest("hex")
    return { id: name.slice(0, 8), key }
  })
}

/** True for a text that {@link layer} can work with. */
export const isMasterKey = (text: string): boolean => keysOf(text) !== undefined

/** The text of a new master key. */
export const newMasterKey: Effect.Effect<Redacted.Redacted> = Effect.sync(() =>
  Redacted.make(randomBytes(keyBytes).toString("base64")),
)

const seal = ({ id, key }: MasterKey, purpose: string, text: string): string => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
  const parts = Buffer.concat([nonce, sealed, cipher.getAuthTag()])
  return [version, id, parts.toString("base64url")].join(".")
}

const unseal = (keys: ReadonlyArray<MasterKey>, purpose: string, sealed: string): string => {
  const [form, id, text = ""] = sealed.split(".")
  const known = form === version ? keys.find((each) => each.id === id) : undefined
  if (known === undefined) {
    throw new VaultClosed({ message: `No master key "${String(id)}" is configured` })
  }
  const parts = Buffer.from(text, "base64url")
  const decipher = createDecipheriv("aes-256-gcm", known.key, parts.subarray(0, nonceBytes))
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(parts.subarray(-tagBytes))
  const body = parts.subarray(nonceBytes, -tagBytes)
  return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8")
}

const broken = (error: unknown): VaultClosed =>
  error instanceof VaultClosed
    ? error
    : new VaultClosed({ message: "A seal was broken, or made for another purpose" })

/**
 * A vault with these keys, separated by commas: the first one seals, each opens what it sealed.
 * A text that is no key is a defect; see {@link isMasterKey}.
 */
export const make = (masterKey: Redacted.Redacted): Vault => {
  const keys = keysOf(Redacted.value(masterKey))
  const current = keys?.[0]
  if (keys === undefined || current === undefined) {
    throw new Error(`A master key is ${masterKeyForm}`)
  }
  return {
    seal: (purpose, text) => Effect.sync(() => seal(current, purpose, text)),
    open: (purpose, sealed) =>
      Effect.try({ try: () => unseal(keys, purpose, sealed), catch: broken }),
  }
}

/** Puts {@link make} in force. */
export const layer = (masterKey: Redacted.Redacted): Layer.Layer<never> =>
  Layer.sync(CurrentVault, () => make(masterKey))
