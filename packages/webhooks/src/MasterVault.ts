/**
 * A vault that encrypts with AES-256-GCM and a master key from the configuration.
 *
 * Guarantees: every sealed text has its own nonce and names its key. It opens only with that key
 * and for the purpose for which it was sealed. Leaves out: keeping the master key safe, and sealing
 * again after the key has changed. An older key opens its texts as long as it is configured.
 */
import { Vault, VaultClosed } from "@millrace/core/ports/Vault"
import { Effect, Layer, Redacted } from "effect"
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto"
import type { MasterKey } from "./MasterKey.ts"
import { keyBytes, keysOf, masterKeyForm } from "./MasterKey.ts"

const nonceBytes = 12
const tagBytes = 16
const version = "v1"

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

/** Signs with a key of its own, so that nothing that was sealed is touched by it. */
const sign = ({ key }: MasterKey, purpose: string, text: string): string => {
  const own = createHmac("sha256", key).update(`millrace sign ${purpose}`).digest()
  return createHmac("sha256", own).update(text).digest("base64url")
}

const broken = (error: unknown): VaultClosed =>
  error instanceof VaultClosed
    ? error
    : new VaultClosed({ message: "A seal was broken, or made for another purpose" })

/**
 * A vault with these keys, separated by commas. The first key seals; every key opens the texts that
 * it has sealed. A text that is no key is a defect; check it with `MasterKey.isMasterKey` first.
 */
export const make = (masterKey: Redacted.Redacted): Vault["Service"] => {
  const keys = keysOf(Redacted.value(masterKey))
  if (keys === undefined) throw new Error(`A master key is ${masterKeyForm}`)
  return {
    seal: (purpose, text) => Effect.sync(() => seal(keys[0]!, purpose, text)),
    open: (purpose, sealed) =>
      Effect.try({ try: () => unseal(keys, purpose, sealed), catch: broken }),
    sign: (purpose, text) => Effect.sync(() => keys.map((each) => sign(each, purpose, text))),
  }
}

/** The same as a layer. */
export const layer = (masterKey: Redacted.Redacted): Layer.Layer<Vault> =>
  Layer.sync(Vault, () => make(masterKey))
