/**
 * One request and one answer over a connection that nobody else uses meanwhile.
 *
 * Guarantees: follows no redirect; reads and keeps no more of the answer than asked for; whatever
 * ends otherwise than with a whole answer leaves no connection behind, also when interrupted.
 * Leaves out: judging the addresses, and the timeout.
 */
import { Effect } from "effect"
import type { Connection, Connections } from "./Connection.ts"
import { WrongPeer } from "./Connection.ts"
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
  /** How much of its beginning is kept. */
  readonly keptBodyBytes: number
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

class TooLarge extends Error {}

/** Keeps the beginning of a body, chunk by chunk. */
class Beginning {
  readonly #chunks: Array<Uint8Array> = []
  readonly #most: number
  #size = 0
  #kept = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Bytes that came so far. */
  get size(): number {
    return this.#size
  }

  add(chunk: Uint8Array): void {
    this.#size += chunk.byteLength
    const room = this.#most - this.#kept
    if (room <= 0) return
    // A copy, because the rest of a chunk would be held in memory with its beginning.
    const part = chunk.byteLength > room ? Uint8Array.from(chunk.subarray(0, room)) : chunk
    this.#chunks.push(part)
    this.#kept += part.byteLength
  }

  read(): Pick<Answer, "body" | "truncated"> {
    return { body: Buffer.concat(this.#chunks), truncated: this.#size > this.#kept }
  }
}

const read = async (
  chunks: AsyncIterable<Uint8Array>,
  { keptBodyBytes, maxBodyBytes, overflow }: Outgoing,
): Promise<{ readonly beginning: Beginning; readonly isWhole: boolean }> => {
  const beginning = new Beginning(keptBodyBytes)
  for await (const chunk of chunks) {
    beginning.add(chunk)
    if (beginning.size <= maxBodyBytes) continue
    if (overflow === "fail") throw new TooLarge()
    return { beginning, isWhole: false }
  }
  return { beginning, isWhole: true }
}

const flatten = (headers: { readonly [name: string]: string | Array<string> | undefined }) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === "string" ? value : (value ?? []).join(", "),
    ]),
  )

const send = async (
  connection: Connection,
  outgoing: Outgoing,
  signal: AbortSignal,
): Promise<Answer> => {
  const { body, headers, method, url } = outgoing
  const response = await connection.client.request({
    method,
    path: url.pathname + url.search,
    headers: { ...headers, "accept-encoding": "identity" },
    body,
    reset: !connection.isKept,
    signal,
  })
  const { beginning, isWhole } = await read(response.body, outgoing)
  if (isWhole) connection.isFree = true
  return {
    status: response.statusCode,
    headers: flatten(response.headers),
    ...beginning.read(),
  }
}

const failureOf = (error: unknown, connection: Connection, outgoing: Outgoing): FailureReason => {
  if (error instanceof TooLarge) return "too-large"
  if (error instanceof WrongPeer) return "refused"
  const secure = outgoing.url.protocol === "https:" && connection.phase === "connecting"
  return reasonOf(error, secure)
}

/** Sends a request to checked addresses and reads the answer. */
export const exchange = (
  outgoing: Outgoing,
  connections: Connections,
): Effect.Effect<Answer, EgressFailed> =>
  Effect.acquireUseRelease(
    Effect.sync(() => connections.take(outgoing)),
    (connection) =>
      Effect.tryPromise({
        try: (signal) => send(connection, outgoing, signal),
        catch: (error) => EgressFailed.of(failureOf(error, connection, outgoing), outgoing),
      }),
    (connection) => Effect.sync(() => connections.giveBack(connection)),
  )
