/**
 * A client of a product's own pool as a byte stream, so that the driver of the stores talks over
 * it: the same types, errors and prepared statements as over a connection of its own.
 *
 * The pool connects and authenticates, so its address, password and TLS hold. From its checkout to
 * its return the driver alone speaks on the client. Guarantees: a client that is returned is closed
 * by its pool, so nobody finds settings or prepared statements of the driver in it; the pool itself
 * stays open. Leaves out: cancelling a statement; it goes on in the database.
 */
import { Duplex } from "node:stream"

/** What is needed of a client of the package `pg`. `native` clients have no `connection`. */
export interface PoolClient {
  readonly connection?: { readonly stream: Duplex }
  readonly processID?: number | null
  on(event: "error", listener: (error: Error) => void): unknown
  off(event: "error", listener: (error: Error) => void): unknown
  /** `true`: the pool closes the client. */
  release(destroy?: boolean): void
}

/** What is needed of a `Pool` of the package `pg`. */
export interface ClientPool {
  readonly options: { readonly max?: number | undefined }
  connect(): Promise<PoolClient>
}

const cancelRequest = 80_877_102
const terminate = 0x58

/** What a server answers to a session that has begun: authenticated, its number, ready. */
const greeting = (processId: number): Buffer => {
  const answer = Buffer.from("R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\0\0\0\0\0Z\0\0\0\x05I")
  answer.writeInt32BE(processId, 14)
  return answer
}

/** Takes the client's socket from its reader; the function gives the client back to be closed. */
const takeOver = (client: PoolClient, socket: Duplex, duplex: Duplex): (() => void) => {
  const receive = (chunk: Buffer) => void (duplex.push(chunk) || socket.pause())
  const fail = (error: Error) => void duplex.destroy(error)
  client.on("error", fail)
  socket.removeAllListeners("data").on("data", receive)
  return () => {
    socket.off("data", receive).resume()
    // The pool listens again before ours is gone: nobody else would hear of an error.
    client.release(true)
    client.off("error", fail)
  }
}

/** A session over a client that is checked out of the pool when the session begins. */
export const connect = (pool: ClientPool): Duplex => {
  let socket: Duplex | undefined
  let giveBack: (() => void) | undefined

  const begin = async (first: Buffer): Promise<void> => {
    // A request to cancel would need a connection of its own that nobody has authenticated.
    if (first.readInt32BE(4) === cancelRequest) return void duplex.push(null)
    const client = await pool.connect()
    if (duplex.destroyed) return client.release()
    socket = client.connection?.stream
    if (socket === undefined) {
      client.release()
      throw new Error("the clients of this pool have no socket (pg-native?): give the url instead")
    }
    giveBack = takeOver(client, socket, duplex)
    duplex.push(greeting(client.processID ?? 0))
  }

  const duplex = new Duplex({
    read: () => void socket?.resume(),
    write(chunk: Buffer, _encoding, done) {
      if (socket === undefined) return void begin(chunk).then(() => done(), done)
      // The pool says goodbye itself when it closes the client.
      const isEnd = chunk.length === 5 && chunk[0] === terminate
      if (isEnd) done()
      else socket.write(chunk, done)
    },
    final(done) {
      done()
      duplex.destroy()
    },
    destroy(error, done) {
      giveBack?.()
      giveBack = undefined
      done(error)
    },
  })
  return duplex
}
