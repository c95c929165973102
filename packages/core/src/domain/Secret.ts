/**
 * Secrets of an account: values such as API tokens, which nodes send to other servers and nobody
 * reads back. A workflow names one by `{{ secrets.name }}`.
 *
 * Guarantees: a value that passes {@link problemsOfValue} is unlikely to stand in a record by
 * chance, so it can be masked there. Leaves out: sealing, and which inputs may name a secret.
 */
import { Schema } from "effect"
import {
  hostsPerSecret,
  secretBytes,
  secretLength,
  secretNameLength,
  plainSecretLength,
} from "./Limits.ts"
import { quoted } from "./Quote.ts"
import { Timestamp } from "./Timestamp.ts"

/** The form of a name, for messages. */
export const secretNameForm = `1 to ${secretNameLength} letters, digits or _, no digit first`

/** A secret's name: unique within the account; case counts. */
export const SecretName = Schema.String.check(
  Schema.isPattern(new RegExp(`^[A-Za-z_][A-Za-z0-9_]{0,${secretNameLength - 1}}$`), {
    expected: secretNameForm,
  }),
)

/** A secret without its value. */
export const Secret = Schema.Struct({
  name: SecretName,
  /** Where it may be sent: `api.example.com`, `*.example.com`, `127.0.0.1:8080`. */
  hosts: Schema.Array(Schema.String),
  createdAt: Timestamp,
  /** When its value or its hosts were last set. */
  updatedAt: Timestamp,
  /** When a node last used it, within a minute; `null` if none ever did. */
  lastUsedAt: Schema.NullOr(Timestamp),
})
export type Secret = typeof Secret.Type

const encoder = new TextEncoder()

/** Letters and marks of words, or digits and marks of numbers, and nothing else. */
const wordlike = /^(?:[\p{L}\p{M}\s/.,:;_-]*|[\d\s/.,:+-]*)$/u

/** Why a value cannot be kept secret, as clauses; empty if it can. None repeats the value. */
export const problemsOfValue = (value: string): ReadonlyArray<string> => {
  if (!value.isWellFormed() || value.includes("\0")) {
    return ["expected text without NUL or lone surrogates"]
  }
  if (encoder.encode(value).length > secretBytes) return [`expected at most ${secretBytes} bytes`]
  if (value.trim() !== value) return ["expected no blanks or line breaks around it"]
  const characters = Array.from(value)
  if (characters.length < secretLength || new Set(characters).size < secretLength / 2) {
    const least = `at least ${secretLength} characters, ${secretLength / 2} of them different`
    return [`expected ${least}: a shorter text stands in records by chance`]
  }
  if (characters.length < plainSecretLength && wordlike.test(value)) {
    return [
      `expected letters and digits, or at least ${plainSecretLength} characters: ` +
        "words and numbers stand in records by chance",
    ]
  }
  return []
}

/** A host as it is stored; `undefined` if the text is none. */
const hostOf = (text: string): string | undefined => {
  const wild = text.startsWith("*.")
  const rest = wild ? text.slice(2) : text
  if (!/^[^\s/?#@\\*]+$/.test(rest) || rest.endsWith(":")) return undefined
  // A `URL` forgets the usual port of its scheme, which stands for one port here, not for all.
  const port = /^(?:\[.*\]|[^:]*):(\d+)$/.exec(rest)?.[1]
  if (!URL.canParse(`ws://${rest}`)) return undefined
  const { hostname } = new URL(`ws://${rest}`)
  // A pattern over a whole top-level domain, or over an address, is a mistake.
  if (wild && (!/^[^.]+(?:\.[^.]+)+$/.test(hostname) || /\.\d+$/.test(hostname))) return undefined
  return `${wild ? "*." : ""}${hostname}${port === undefined ? "" : `:${Number(port)}`}`
}

const hostForm = "a host such as api.example.com, *.example.com or api.example.com:8443"

/** The hosts as they are stored, or why they cannot be, as clauses. */
export const readHosts = (
  texts: ReadonlyArray<string>,
): { readonly hosts: ReadonlyArray<string>; readonly problems: ReadonlyArray<string> } => {
  if (texts.length === 0 || texts.length > hostsPerSecret) {
    return { hosts: [], problems: [`expected 1 to ${hostsPerSecret} hosts`] }
  }
  const hosts = texts.map((text) => hostOf(text.trim()))
  const problems = texts.flatMap((text, index) =>
    hosts[index] === undefined ? [`expected ${hostForm}, not ${quoted(text)}`] : [],
  )
  return { hosts: [...new Set(hosts.filter((host) => host !== undefined))], problems }
}

const defaultPorts: { readonly [protocol: string]: string } = { "http:": "80", "https:": "443" }

/**
 * True if a secret with these hosts may go to this address. A host without a port stands for all
 * its ports, and `*.example.com` for every name below `example.com`.
 */
export const mayGoTo = (hosts: ReadonlyArray<string>, url: URL): boolean => {
  const port = url.port === "" ? (defaultPorts[url.protocol] ?? "") : url.port
  return hosts.some((host) => {
    // An address of version 6 has brackets, so its colons are no ports.
    const [, name = host, wanted] = /^(.*?)(?::(\d+))?$/.exec(host.replace(/^\*\./, "")) ?? []
    if (wanted !== undefined && wanted !== port) return false
    return host.startsWith("*.") ? url.hostname.endsWith(`.${name}`) : url.hostname === name
  })
}

/** The names of secrets that texts of these nodes use, in order. */
export const secretsNamedBy = (nodes: ReadonlyArray<unknown>): ReadonlyArray<string> => {
  const found = JSON.stringify(nodes).matchAll(/secrets\.([A-Za-z_][A-Za-z0-9_]*)/g)
  return [...new Set(Array.from(found, ([, name]) => name!))].toSorted()
}

/** The name of the master key that sealed a text. */
export const sealedBy = (sealed: string): string => sealed.replace(/\.[^.]*$/, "")
