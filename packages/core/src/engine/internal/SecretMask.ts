/**
 * Finds secrets in texts and masks them: as they are, and as programs write them: percent-encoded,
 * escaped as JSON or HTML, in hexadecimal, and in base64 at any place of a longer text.
 *
 * Guarantees: a masked text holds no secret in any of these forms; values without one come back as
 * they were. Leaves out: forms that need a key or a dictionary, such as ciphers and compression.
 */
import * as Base64 from "effect/encoding/Base64"
import * as Hex from "effect/encoding/Hex"
import type { Json } from "../../domain/Json.ts"
import { freeze } from "../../domain/Json.ts"
import { plainSecretLength } from "../../domain/Limits.ts"

/** What stands in the place of a secret. */
export const mask = "•••"

const encoder = new TextEncoder()

const lowerHex = (text: string): string =>
  text.replace(/%[\dA-F]{2}/g, (escape) => escape.toLowerCase())

const percentForms = (text: string): ReadonlyArray<string> => {
  const strict = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  const every = Array.from(encoder.encode(text), (byte) => byte.toString(16).padStart(2, "0"))
  const forms = [
    strict,
    encodeURIComponent(text),
    encodeURI(text),
    strict.replaceAll("%20", "+"),
    new URLSearchParams([["", text]]).toString().slice(1),
    `%${every.join("%").toUpperCase()}`,
  ]
  return [...forms, ...forms.map(lowerHex)]
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

const jsonForms = (text: string): ReadonlyArray<string> => {
  const plain = inJson(text)
  const ascii = plain.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
  const forms = [plain, ascii, plain.replaceAll("/", "\\/"), ascii.replaceAll("/", "\\/")]
  return [...forms, ...forms.map(inJson)]
}

const htmlForms = (text: string): ReadonlyArray<string> => {
  const open = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
  const quoted = open.replaceAll('"', "&quot;")
  const quotes = ["&#39;", "&#x27;", "&apos;", "&#039;"]
  return [open, quoted, ...quotes.map((quote) => quoted.replaceAll("'", quote))]
}

/** The characters of base64 that stand for these bytes alone, behind so many other bytes. */
const base64Core = (bytes: Uint8Array, before: number): string => {
  const padded = new Uint8Array(before + bytes.length)
  padded.set(bytes, before)
  const text = Base64.encode(padded)
  return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3))
}

/** The shortest part of base64 by which a secret is known. */
const leastCore = 8

const base64Forms = (text: string): ReadonlyArray<string> => {
  const bytes = encoder.encode(text)
  const cores = [0, 1, 2]
    .map((before) => base64Core(bytes, before))
    .filter(({ length }) => length >= leastCore)
  return cores.flatMap((core) => [
    core,
    core.replaceAll("+", "-").replaceAll("/", "_"),
    core.replaceAll("/", "\\/"),
    encodeURIComponent(core),
    lowerHex(encodeURIComponent(core)),
  ])
}

/** A secret of several lines is also found by its longer lines, and with other line breaks. */
const partsOf = (secret: string): ReadonlyArray<string> => {
  if (!secret.includes("\n")) return [secret]
  const lines = secret.split(/\r?\n/)
  const long = lines.map((line) => line.trim()).filter((line) => line.length >= plainSecretLength)
  return [secret, lines.join("\n"), lines.join("\r\n"), ...long]
}

const hexForms = (text: string): ReadonlyArray<string> => {
  const hex = Hex.encode(text)
  return [hex, hex.toUpperCase()]
}

/** Longest first, so that no part of a longer form is left. */
const byLength = (a: string, b: string): number => b.length - a.length

const base64Character = /[\w+/\\%=-]/

/** Masks a form of base64 with all that stands around it: its ends hold bits of the secret. */
const maskRuns = (text: string, core: string): string => {
  let masked = ""
  let from = 0
  for (let at = text.indexOf(core); at >= 0; at = text.indexOf(core, from)) {
    let start = at
    while (start > from && base64Character.test(text[start - 1]!)) start -= 1
    let end = at + core.length
    while (end < text.length && base64Character.test(text[end]!)) end += 1
    masked += text.slice(from, start) + mask
    from = end
  }
  return masked + text.slice(from)
}

/** The fewest characters by which the beginning of a secret is known at the end of a text. */
const leastBeginning = 4

/** Finds these secrets. */
export class SecretMask {
  readonly #forms: ReadonlyArray<string>
  readonly #cores: ReadonlyArray<string>
  /** All of them, as they are within a JSON text. */
  readonly #inJson: ReadonlyArray<string>

  constructor(secrets: ReadonlyArray<string>) {
    const parts = [...new Set(secrets.flatMap(partsOf))]
    const forms = parts.flatMap((part) => [
      part,
      ...jsonForms(part),
      ...percentForms(part),
      ...htmlForms(part),
      ...hexForms(part),
    ])
    this.#forms = [...new Set(forms)].toSorted(byLength)
    this.#cores = [...new Set(parts.flatMap(base64Forms))].toSorted(byLength)
    this.#inJson = [...this.#forms, ...this.#cores].map(inJson)
  }

  /** True if a text holds one of the secrets, in any form. */
  occursIn(text: string): boolean {
    return [...this.#forms, ...this.#cores].some((form) => text.includes(form))
  }

  /** The text with every secret masked. */
  text(text: string): string {
    let masked = text
    for (const form of this.#forms) {
      if (masked.includes(form)) masked = masked.replaceAll(form, mask)
    }
    for (const core of this.#cores) {
      if (masked.includes(core)) masked = maskRuns(masked, core)
    }
    return masked
  }

  /** The same for a text that was cut: it may end with the beginning of a secret. */
  cutText(text: string): string {
    const masked = this.text(text)
    for (const form of [...this.#forms, ...this.#cores]) {
      const most = Math.min(form.length - 1, masked.length)
      for (let length = most; length >= leastBeginning; length--) {
        if (masked.endsWith(form.slice(0, length))) return masked.slice(0, -length) + mask
      }
    }
    return masked
  }

  /** The value with every secret masked, in names, too; frozen where it is another one. */
  json<A extends Json>(value: A): A {
    // Most values hold none, and one text is searched faster than many.
    const text = JSON.stringify(value)
    if (!this.#inJson.some((form) => text.includes(form))) return value
    const masked = this.#masked(value)
    return masked === value ? value : (freeze(masked) as A)
  }

  #masked(value: Json): Json {
    if (typeof value === "string") return this.text(value)
    if (typeof value === "number") {
      const text = String(value)
      return this.#forms.includes(text) ? mask : value
    }
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) {
      const before = value as ReadonlyArray<Json>
      const list = before.map((each) => this.#masked(each))
      return list.every((each, index) => each === before[index]) ? before : list
    }
    const entries = Object.entries(value)
    const next = entries.map(([key, each]) => [this.text(key), this.#masked(each)] as const)
    const isSame = next.every(([key, each], at) => {
      const [name, before] = entries[at]!
      return key === name && each === before
    })
    return isSame ? value : Object.fromEntries(next)
  }
}
