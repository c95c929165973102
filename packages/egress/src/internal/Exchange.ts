/**
 * One request and its answer, over a connection of their own.
 *
 * Guarantees: follows no redirect. Reads and keeps no more of the answer than asked for. Fails at
 * the deadline. Unless the whole answer arrived, the connection is closed, also after an
 * interruption. Leaves out: judging the addresses.
 */
import { Effect, Exit } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import type { Dispatcher } from "undici"
import type { Connection, Connections } from "./Connection.ts"
import type { Deadlines } from "./Deadlines.ts"
import { WrongPeer } from "./FixedLookup.ts"
import type { ExchangeReason } from "./Failure.ts"
import { EgressFailed, reasonOf } from "./Failure.ts"
import "./NodeVersion.ts"

/** A request, its destination and its bounds. */
export interface Outgoing {
  readonly method: string
  readonly url: URL
  /** Judged addresses in the spelling of `canonical`; at least one. */
  readonly addresses: ReadonlyArray<string>
  readonly headers: { readonly [name: string]: string }
  readonly body: string | Uint8Array | null
  /** In the time of `Deadlines.after`. */
  readonly deadline: number
  /** How long connecting may take; the message of a timeout shows it. */
  readonly timeoutMillis: number
  readonly maxBodyBytes: number
  /** How many bytes of the answer are kept. */
  readonly keptBodyBytes: number
  /** Whether a larger answer is a failure, or its beginning is kept. */
  readonly overflow: "fail" | "truncate"
}

/** The answer. */
export interface Answer {
  readonly status: number
  /** Names in lower case; several values of one name joined by `, `. */
  readonly headers: { readonly [name: string]: string }
  readonly body: Uint8Array
  /** True if `body` is only the beginning. */
  readonly truncated: boolean
}

/** The body of an answer that has none. */
const nothing = Buffer.alloc(0)

/** Keeps the beginning of a body, chunk by chunk. */
class Beginning {
  readonly #chunks: Array<Uint8Array> = []
  readonly #most: number
  #size = 0
  #kept = 0

  constructor(most: number) {
    this.#most = most
  }

  /** How many bytes have arrived. */
  get size(): number {
    return this.#size
  }

  add(chunk: Uint8Array): void {
    this.#size += chunk.byteLength
    const room = this.#most - this.#kept
    if (room <= 0) return
    // A copy, because a view would keep the whole chunk in memory.
    const part = chunk.byteLength > room ? Uint8Array.from(chunk.subarray(0, room)) : chunk
    this.#chunks.push(part)
    this.#kept += part.byteLength
  }

  read(): Pick<Answer, "body" | "truncated"> {
    const body = this.#kept === 0 ? nothing : Buffer.concat(this.#chunks)
    return { body, truncated: this.#size > this.#kept }
  }
}

const flatten = (headers: IncomingHttpHeaders): Answer["headers"] => {
  const all = { ...headers }
  for (const name of Object.keys(all)) {
    const value = all[name]
    if (Array.isArray(value)) all[name] = value.join(", ")
  }
  return all as Answer["headers"]
}

const failureOf = (error: unknown, connection: Connection, { url }: Outgoing): ExchangeReason => {
  if (error instanceof WrongPeer) return "refused"
  const secure = url.protocol === "https:" && connection.phase === "connecting"
  return reasonOf(error, secure)
}

type End = Exit.Exit<Answer, EgressFailed>

/** Gathers the answer from a connection. Calls `onEnd` at the end. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #outgoing: Outgoing
  readonly #connection: Connection
  readonly #onEnd: (end: End) => void
  readonly #beginning: Beginning
  #status = 0
  #headers: IncomingHttpHeaders = {}

  constructor(outgoing: Outgoing, connection: Connection, onEnd: (end: End) => void) {
    this.#outgoing = outgoing
    this.#connection = connection
    this.#onEnd = onEnd
    this.#beginning = new Beginning(outgoing.keptBodyBytes)
  }

  onRequestStart(): void {}

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // May be called several times: "early hints" come before the answer.
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    const { maxBodyBytes, overflow } = this.#outgoing
    this.#beginning.add(chunk)
    if (this.#beginning.size <= maxBodyBytes) return
    if (overflow === "fail") this.fail("too-large")
    else this.#succeed()
  }

  onResponseEnd(): void {
    this.#connection.isFree = true
    this.#succeed()
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
    this.fail(failureOf(error, this.#connection, this.#outgoing))
  }

  fail(reason: ExchangeReason): void {
    this.#onEnd(Exit.fail(EgressFailed.of(reason, this.#outgoing)))
  }

  #succeed(): void {
    const headers = flatten(this.#headers)
    this.#onEnd(Exit.succeed({ status: this.#status, headers, ...this.#beginning.read() }))
  }
}

const send = (connection: Connection, outgoing: Outgoing, exchange: Exchange): void => {
  const { body, headers, method, url } = outgoing
  const request = {
    method,
    path: url.pathname + url.search,
    headers: { ...headers, "accept-encoding": "identity" },
    body,
    reset: !connection.isKept,
  }
  try {
    connection.client.dispatch(request, exchange)
  } catch (error) {
    exchange.onResponseError(null, error)
  }
}

/** Sends a request to judged addresses and reads the answer. */
export const exchange = (
  outgoing: Outgoing,
  connections: Connections,
  deadlines: Deadlines,
): Effect.Effect<Answer, EgressFailed> =>
  Effect.callback<Answer, EgressFailed>((resume) => {
    const connection = connections.take(outgoing)
    let isOver = false
    const finish = (): boolean => {
      if (isOver) return false
      isOver = true
      deadlines.remove(deadline)
      connections.giveBack(connection)
      return true
    }
    const hearing = new Exchange(outgoing, connection, (end) => {
      if (finish()) resume(end)
    })
    const deadline = { at: outgoing.deadline, expire: () => hearing.fail("timeout") }
    deadlines.add(deadline)
    send(connection, outgoing, hearing)
    return Effect.sync(finish)
  })
