/**
 * A connection to an embedded PGlite as a byte stream. So the driver for Postgres servers works
 * with PGlite, with the same types, errors and prepared statements.
 *
 * Guarantees: PGlite gets only whole messages, one batch at a time. A new connection finds a clean
 * session, although PGlite has only one. Leaves out: encryption, and canceling a statement, which
 * PGlite cannot do.
 */
import { Duplex } from "node:stream"

/** The used part of a PGlite database. */
export interface Session {
  readonly runExclusive: <A>(run: () => Promise<A>) => Promise<A>
  readonly execProtocolRawStream: (
    message: Uint8Array,
    options: { readonly onRawData: (data: Uint8Array) => void; readonly syncToFs: boolean },
  ) => Promise<void>
}

const terminate = 0x58
const cancelRequest = 80_877_102

/** Runs whole messages and returns the answer. */
const run = async (session: Session, messages: Uint8Array): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  await session.execProtocolRawStream(messages, {
    // A copy, because the next statement overwrites PGlite's memory.
    onRawData: (data) => void chunks.push(Buffer.from(data)),
    syncToFs: true,
  })
  return Buffer.concat(chunks)
}

/** A simple query as a message. */
const query = (sql: string): Buffer => {
  const message = Buffer.alloc(sql.length + 6)
  message.write("Q")
  message.writeInt32BE(sql.length + 5, 1)
  message.write(sql, 5)
  return message
}

/** Removes an earlier connection's transaction, prepared statements and settings. */
const reset = async (session: Session): Promise<void> => {
  await run(session, query("ROLLBACK"))
  await run(session, query("DISCARD ALL"))
}

/** Collects bytes until messages are whole. */
class Messages {
  #pending: Buffer = Buffer.alloc(0)
  #started = false

  /** True until the first message, the only one without a type. */
  get isStarting(): boolean {
    return !this.#started
  }

  /** The whole messages so far, without the message that ends the connection. */
  take(chunk: Buffer): Buffer {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    let end = 0
    for (;;) {
      const header = this.#started ? 1 : 0
      if (bytes.length - end < header + 4) break
      const size = header + bytes.readInt32BE(end + header)
      if (bytes.length - end < size) break
      if (header === 1 && bytes[end] === terminate) {
        this.#pending = Buffer.alloc(0)
        return bytes.subarray(0, end)
      }
      end += size
      if (this.#started) continue
      // The first message is a batch of its own.
      this.#started = true
      break
    }
    this.#pending = bytes.subarray(end)
    return bytes.subarray(0, end)
  }
}

/** Opens a connection to the session. */
export const connect = (session: Session): Duplex => {
  const messages = new Messages()

  const answer = async (isFirst: boolean, batch: Buffer): Promise<void> => {
    // A request to cancel has its own connection and gets no answer.
    if (isFirst && batch.readInt32BE(4) === cancelRequest) return void duplex.push(null)
    await session.runExclusive(async () => {
      if (duplex.destroyed) return
      if (isFirst) await reset(session)
      duplex.push(await run(session, batch))
    })
  }

  const accept = async (chunk: Buffer): Promise<void> => {
    let rest = chunk
    for (;;) {
      const isFirst = messages.isStarting
      const batch = messages.take(rest)
      if (batch.length === 0) return
      await answer(isFirst, batch)
      rest = Buffer.alloc(0)
    }
  }

  const duplex = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      accept(chunk).then(() => done(), done)
    },
    final(done) {
      duplex.push(null)
      done()
    },
  })
  return duplex
}
