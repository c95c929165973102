/**
 * Reads master keys from the text in the configuration. This module loads little, so the command
 * line can refuse a wrong key at once.
 */
import { createHash } from "node:crypto"

/** Bytes of a master key. */
export const keyBytes = 32

/** A master key, and the name by which a sealed text says which key opens it. */
export interface MasterKey {
  readonly id: string
  readonly key: Buffer
}

/** The form of a master key, for messages. */
export const masterKeyForm = "32 bytes as base64 or as 64 hexadecimal digits"

const bytesOf = (text: string): Buffer | undefined => {
  const isHex = /^[\da-f]{64}$/i.test(text)
  if (!isHex && !/^[\w+/-]{43}=?$/.test(text)) return undefined
  return Buffer.from(text, isHex ? "hex" : "base64")
}

/** The keys in a text, separated by commas, newest first; `undefined` if one of them is no key. */
export const keysOf = (text: string): ReadonlyArray<MasterKey> | undefined => {
  const keys = text.split(",").map((part) => bytesOf(part.trim()))
  if (!keys.every((key) => key !== undefined)) return undefined
  return keys.map((key) => {
    const name = createHash("sha256").update("millrace master key").update(key).digest("hex")
    return { id: name.slice(0, 8), key }
  })
}

/** True for the text of one master key, or of several. */
export const isMasterKey = (text: string): boolean => keysOf(text) !== undefined
