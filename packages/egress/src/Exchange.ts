/**
 * One request and one answer over one connection of its own.
 *
 * Guarantees: connects to one of the given addresses and to nothing else, whatever the name
 * resolves to by now; follows no redirect; reads no more of the answer than asked for; leaves no
 * connection behind, also when interrupted. Leaves out: judging the addresses, and the timeout.
 */
import type { LookupFunction, Socket } from "node:net"
import { isIP } from "node:net"
import { Effect } from "effect"
import { buildConnector, Client } from "undici"
import { bareHost, canonical } from "./Address.ts"
import type { FailureReason } from "./Failure.ts"
import { EgressFailed, reasonOf } from "./Failure.ts"

/** What is sent, and where to. */
export interface Outgoing {
  readonly method: string
  readonly url: URL
  /** Checked, as {@link canonical} spells them; at least one. */
  readonly addresses: ReadonlyArray<string>
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array | null
  /** Of the attempt to connect; the exchange as a whole is bounded by the caller. */
  readonly timeoutMillis: number
  readonly maxBodyBytes: number
  /** What to do with an answer that is larger: fail, or keep its beginning. */
  readonly overflow: "fail" | "truncate"
}

/** What came back. */
export interface Answer {
  readonly status: number
  /** Names in lower case; several values of one name joined by `, `. */
  readonly headers: { readonly [name: string]: string }
  readonly body: Uint8Array
  /** True when `body` is only the beginning. */
  readonly truncated: boolean
}

/** Bytes of an answer's headers. */
const maxHeaderBytes = 16_384

/** Says which of the checked addresses a name has; never asks anybody. */
const fixedLookup =
  (addresses: ReadonlyArray<string>): LookupFunction =>
  (_hostname, options, callback) => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }))
    if (options.all === true) callback(null, all)
    else callback(null, all[0]?.address ?? "", all[0]?.family ?? 4)
  }

/** A connection that reached somebody else than it was sent to. */
class WrongPeer extends Error {}

interface Connection {
  readonly client: Client
  readonly phase: () => "connecting" | "connected"
  readonly close: () => void
}

const open = (outgoing: Outgoing): Connection => {
  const { addresses, timeoutMillis, url } = outgoing
  const host = bareHost(url.hostname)
  const servername = isIP(host) === 0 ? { servername: host } : {}
  const connect = buildConnector({
    allowH2: false,
    maxCachedSessions: 0,
    timeout: timeoutMillis,
    lookup: fixedLookup(addresses),
    autoSelectFamily: true,
  })
  let phase: "connecting" | "connected" = "connecting"
  let opening: Socket | undefined
  const connector: buildConnector.connector = (options, callback) => {
    // The connector returns its socket though its type does not say so: an interrupted attempt
    // must not go on knocking until it times out.
    opening = connect({ ...options, ...servername }, (error, socket) => {
      if (error !== null) return callback(error, null)
      if (addresses.includes(canonical(socket.remoteAddress ?? ""))) {
        phase = "connected"
        return callback(null, socket)
      }
      socket.destroy()
      return callback(new WrongPeer("reached another address"), null)
    }) as unknown as Socket | undefined
  }
  const client = new Client(url.origin, {
    connect: connector,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const close = () => {
    opening?.destroy()
    void client.destroy()
  }
  return { client, phase: () => phase, close }
}

class TooLarge extends Error {}

const read = async (
  chunks: AsyncIterable<Uint8Array>,
  { maxBodyBytes, overflow }: Outgoing,
): Promise<Pick<Answer, "body" | "truncated">> => {
  const kept: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of chunks) {
    kept.push(chunk)
    size += chunk.byteLength
    if (size <= maxBodyBytes) continue
    if (overflow === "fail") throw new TooLarge()
    return { body: Buffer.concat(kept).subarray(0, maxBodyBytes), truncated: true }
  }
  return { body: Buffer.concat(kept), truncated: false }
}

const flatten = (headers: { readonly [name: string]: string | Array<string> | undefined }) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === "string" ? value : (value ?? []).join(", "),
    ]),
  )

const send = async (
  { client }: Connection,
  outgoing: Outgoing,
  signal: AbortSignal,
): Promise<Answer> => {
  const { body, headers, method, url } = outgoing
  const response = await client.request({
    method,
    path: url.pathname + url.search,
    headers: { ...headers, "accept-encoding": "identity" },
    body,
    reset: true,
    signal,
  })
  const received = await read(response.body, outgoing)
  return { status: response.statusCode, headers: flatten(response.headers), ...received }
}

const failureOf = (error: unknown, connection: Connection, outgoing: Outgoing): FailureReason => {
  if (error instanceof TooLarge) return "too-large"
  if (error instanceof WrongPeer) return "refused"
  const secure = outgoing.url.protocol === "https:" && connection.phase() === "connecting"
  return reasonOf(error, secure)
}

/** Sends a request to checked addresses and reads the answer. */
export const exchange = (outgoing: Outgoing): Effect.Effect<Answer, EgressFailed> =>
  Effect.acquireUseRelease(
    Effect.sync(() => open(outgoing)),
    (connection) =>
      Effect.tryPromise({
        try: (signal) => send(connection, outgoing, signal),
        catch: (error) => EgressFailed.of(failureOf(error, connection, outgoing), outgoing),
      }),
    (connection) => Effect.sync(connection.close),
  )
