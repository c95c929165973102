/**
 * A connection to an embedded PGlite as a byte stream, so that the driver that talks to a Postgres
 * server talks to PGlite too: the same types, errors and prepared statements.
 *
 * Guarantees: only whole messages are handed over, one batch at a time; a new connection finds the
 * one session as a server's would be, without what an earlier connection left in it. Leaves out:
 * cancelling a statement, which PGlite cannot, and encryption.
 */
import { Duplex } from "node:stream"

/** What is needed of a PGlite database. */
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
    // The data lies in PGlite's own memory, which its next statement overwrites.
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

/** Ends what an earlier connection may have left: a transaction, prepared statements, settings. */
const reset = async (session: Session): Promise<void> => {
  await run(session, query("ROLLBACK"))
  await run(session, query("DISCARD ALL"))
}

/** Collects bytes until messages are whole. */
class Messages {
  #pending: Buffer = Buffer.alloc(0)
  #started = false

  /** True until the first message, which alone has no type. */
  get isStarting(): boolean {
    return !this.#started
  }

  /** The whole messages that the bytes so far make up, without a farewell. */
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
      // The first message goes out alone.
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
    // A request to cancel comes over a connection of its own and gets no answer.
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
