/**
 * Readers of the texts of variables and flags. A reader returns `undefined` for a text that it
 * cannot read.
 */
import { SecretPrefix } from "@millrace/core/domain/ApiKey"
import { isCidr } from "@millrace/egress/Address"
import { isFrameOrigin, isOrigin, isPublicUrl } from "@millrace/http/ConsoleSettings"
import * as IpNetwork from "effect/net/IpNetwork"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isIP } from "node:net"
import type { AllowedNetwork } from "./Settings.ts"
import type { Read } from "./Variable.ts"

/** Reads a port from 0 to 65535; 0 means any free one. */
export const readPort: Read<number> = (text) =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined

/** Reads ports from 1 to 65535, separated by commas, or `none`. */
export const readPorts: Read<ReadonlyArray<number>> = (text) => {
  if (text.trim() === "none") return []
  const ports = text.split(",").map((part) => readPort(part.trim()))
  return ports.every((port) => port !== undefined && port > 0)
    ? (ports as ReadonlyArray<number>)
    : undefined
}

/** Reads `true`, `yes`, `on`, `1` and their opposites. */
export const readBoolean: Read<boolean> = (text) => {
  if (/^(?:true|1|yes|on)$/i.test(text)) return true
  return /^(?:false|0|no|off)$/i.test(text) ? false : undefined
}

const readNetwork: Read<AllowedNetwork> = (text) => {
  const [, cidr, port] = /^([\d.]+\/\d+|\[[\da-f:.]+\]\/\d+)(?::(\d+))?$/i.exec(text) ?? []
  const network = { cidr: cidr?.replace(/[[\]]/g, "") ?? "" }
  if (!isCidr(network.cidr)) return undefined
  if (port === undefined) return network
  const number = readPort(port)
  return number === undefined ? undefined : { ...network, port: number }
}

/** Reads networks with or without a port, separated by commas. */
export const readNetworks: Read<ReadonlyArray<AllowedNetwork>> = (text) => {
  const networks = text.split(",").map((part) => readNetwork(part.trim()))
  return networks.every((each) => each !== undefined) ? networks : undefined
}

/** Reads addresses and networks, separated by commas, as networks. */
export const readProxies: Read<ReadonlyArray<string>> = (text) => {
  const parts = text.split(",").map((part) => part.trim())
  const networks = parts.map((part) => (isIP(part) === 0 ? part : `${part}/${bitsOf(part)}`))
  return networks.every(isNetwork) ? networks : undefined
}

const isNetwork = (text: string): boolean => Result.isSuccess(IpNetwork.fromString(text))

const bitsOf = (address: string): number => (isIP(address) === 4 ? 32 : 128)

const readAll =
  (isOne: (text: string) => boolean): Read<ReadonlyArray<string>> =>
  (text) => {
    const parts = text.split(",").map((part) => part.trim())
    return parts.every(isOne) ? parts : undefined
  }

/** Reads origins, also with `*.` before a host, separated by commas. */
export const readFrameOrigins = readAll(isFrameOrigin)

/** Reads origins, separated by commas. */
export const readOrigins = readAll(isOrigin)

/** Reads the address that browsers know, without a slash at the end. */
export const readPublicUrl: Read<string> = (text) =>
  isPublicUrl(text) ? text.replace(/\/$/, "") : undefined

/** Reads texts that are not empty, separated by commas. */
export const readList = readAll((part) => part !== "")

/** Reads a token: characters that a header can carry, and too many to guess. */
export const readToken: Read<Redacted.Redacted> = (text) =>
  /^[\x21-\x7e]{24,}$/.test(text) ? Redacted.make(text) : undefined

/** Reads a prefix of API keys. */
export const readPrefix: Read<string> = (text) => (isPrefix(text) ? text : undefined)

const isPrefix = Schema.is(SecretPrefix)

/** Reads the address of a server, without a slash at the end. */
export const readOrigin: Read<string> = (text) =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? "") ? text.replace(/\/+$/, "") : undefined

/** Milliseconds of units of time. */
export const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Reads a duration such as `500ms`, `1.5s` or `2m`, in milliseconds. */
export const readDuration: Read<number> = (text) => {
  const [, amount, unit] = /^(\d+(?:\.\d+)?) ?(ms|s|m|h)$/.exec(text.trim()) ?? []
  return unit === undefined ? undefined : Number(amount) * units[unit as keyof typeof units]
}

/** Reads a number from `least` to `most`. */
export const readBetween =
  <A extends number>(read: Read<A>, least: number, most: number): Read<A> =>
  (text) => {
    const value = read(text)
    return value !== undefined && value >= least && value <= most ? value : undefined
  }

/** Reads a whole number of at most six digits. */
export const readCount: Read<number> = (text) => (/^\d{1,6}$/.test(text) ? Number(text) : undefined)

/** Reads a path, or `s3://bucket/prefix`. */
export const readPlace: Read<string> = (text) => {
  if (text.startsWith("s3://"))
    return /^s3:\/\/[a-z0-9][\w.-]+(?:\/|$)/.test(text) ? text : undefined
  return text.trim() === "" || /^\w+:\/\//.test(text) ? undefined : text
}

/** Reads headers such as `key=value,other=value`, whose values may be percent-encoded. */
export const readHeaders: Read<Redacted.Redacted<Readonly<Record<string, string>>>> = (text) => {
  const pairs = text.split(",").map((part) => /^\s*([\w!#$%&'*+.^`|~-]+)=(.*)$/.exec(part))
  if (!pairs.every((pair) => pair !== null)) return undefined
  try {
    const values = pairs.map(([, name, value]) => [name, decodeURIComponent(value!.trim())])
    return Redacted.make(Object.fromEntries(values) as Record<string, string>)
  } catch {
    return undefined
  }
}
