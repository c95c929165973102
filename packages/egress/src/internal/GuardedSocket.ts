/**
 * A connection as libraries get it: bytes in both directions, and nothing to be done with it that
 * the guard does not know of.
 *
 * Guarantees: no more arrives than is allowed. An exception of whoever listens breaks the
 * connection, not the process. TLS begins only where nothing has arrived that was not read, and
 * verifies the certificate for the host. Leaves out: which address to connect to, and deadlines.
 */
import type { Socket } from "node:net"
import { isIP } from "node:net"
import { Duplex } from "node:stream"
import { connect } from "node:tls"

/** More has arrived than is allowed. */
export class TooLarge extends Error {}

/** How a server proves who it is. */
export interface TlsOptions {
  /** The name or the address for which the certificate has to be good. */
  readonly host: string
  /** Certificates that vouch for the server in the place of the public ones, as PEM text. */
  readonly ca?: string | undefined
}

export class GuardedSocket extends Duplex {
  /** Looks at what arrives, and returns what is passed on. What it throws breaks the connection. */
  screen: (chunk: Buffer) => Uint8Array = (chunk) => chunk
  #inner: Socket
  #left: number
  #hasEnded = false

  /** Over a socket that is connected, or that will be. */
  constructor(inner: Socket, maxBytes: number) {
    super({ allowHalfOpen: false })
    this.#inner = inner
    this.#left = maxBytes
    // Whoever uses the connection may have left.
    this.on("error", () => {})
    this.#attach()
  }

  /** Begins TLS. `onEnd` is called once; with an error, the connection is of no use any more. */
  secure({ ca, host }: TlsOptions, onEnd: (error?: unknown) => void): void {
    const plain = this.#inner
    plain.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose)
    // It was sent by nobody who has proved who he is, so it must not count as said over TLS.
    if (this.readableLength > 0) return onEnd(new Error("said something before TLS"))
    try {
      const servername = isIP(host) === 0 ? { servername: host } : {}
      const trust = ca === undefined ? {} : { ca }
      const secured = connect({
        socket: plain,
        host,
        rejectUnauthorized: true,
        ...servername,
        ...trust,
      })
      this.#inner = secured
      this.#attach()
      secured.once("error", onEnd)
      secured.once("secureConnect", () => {
        secured.removeListener("error", onEnd)
        onEnd()
      })
    } catch (error) {
      onEnd(error)
    }
  }

  /** Libraries want to connect by themselves; this connection is there. */
  connect(): this {
    process.nextTick(() => this.emit("connect"))
    return this
  }

  /** Libraries set what belongs to the guard; it changes nothing. */
  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  setTimeout(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  override emit(...event: Parameters<Duplex["emit"]>): boolean {
    try {
      return super.emit(...event)
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)))
      return true
    }
  }

  override _read(): void {
    this.#inner.resume()
  }

  override _write(
    chunk: Uint8Array,
    _encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    this.#inner.write(chunk, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#inner.end(() => done())
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inner.destroy()
    done(error)
  }

  readonly #onData = (chunk: Buffer) => this.#receive(chunk)

  readonly #onEnd = () => {
    this.#hasEnded = true
    this.push(null)
  }

  /** After an orderly end, what has arrived can still be read. */
  readonly #onClose = () => {
    if (!this.#hasEnded) this.destroy()
  }

  #attach(): void {
    const inner = this.#inner
    inner.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose)
    inner.on("error", (error) => this.destroy(error))
  }

  #receive(chunk: Buffer): void {
    this.#left -= chunk.byteLength
    if (this.#left < 0) {
      this.destroy(new TooLarge("too large"))
      return
    }
    try {
      const passed = this.screen(chunk)
      if (passed.byteLength > 0 && !this.push(passed)) this.#inner.pause()
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
