/**
 * A session with a Postgres server for one statement, over a socket of the guard.
 *
 * Guarantees: the statement is the only thing in its transaction that a stranger wrote, and the
 * transaction only reads unless it may write. A database with tables of Millrace is refused before
 * the statement is sent. After a failure nothing is changed. Nothing of this process's environment
 * is used or sent. Leaves out: retries.
 */
import type { Json } from "@millrace/core/domain/Json"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import type { EgressFailed, OpenSocket } from "@millrace/egress/Egress"
import { Effect } from "effect"
import { shown } from "../Shown.ts"
import { Frames } from "./Frames.ts"
import type { Query, QueryResult } from "./Submission.ts"
import { Submission } from "./Submission.ts"
import type { ArrayReader } from "./Values.ts"

/** Who signs in where. */
export interface SignIn {
  readonly user: string
  readonly password: string
  readonly database: string
  /** Null: without TLS. `ca`: who vouches for the server, as PEM text. */
  readonly tls: { readonly ca?: string | undefined } | null
}

/** A statement, and what it may do. */
export interface Request extends Query {
  readonly mayWrite: boolean
  readonly timeoutMillis: number
}

/** What is used of the library's client. */
interface Client {
  getStartupConf: () => object
  readonly on: (event: "error", listener: () => void) => void
  readonly connect: () => Promise<unknown>
  readonly query: {
    (text: string): Promise<unknown>
    (submission: Submission): Submission
  }
}

/** What is used of the library. Not all of it is declared. */
interface Library {
  readonly Client: new (options: object) => Client
  readonly Connection: new (options: object) => object
  readonly types: {
    readonly arrayParser: {
      readonly create: (
        text: string,
        element: (text: string | null) => Json,
      ) => { readonly parse: () => Json }
    }
  }
}

/** Imported when the first statement is sent. */
const library = Effect.promise(async () => (await import("pg")) as unknown as Library)

const failure = (message: string) => new NodeError({ message, retryable: false })

const brokenOff = "The connection was closed before the answer was complete"

const unclear = "What the server answers cannot be understood"

/** Asks for TLS, as Postgres wants to be asked. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Says that the session ends. */
const goodbye = Buffer.from([88, 0, 0, 0, 4])

const answerToTls = (stream: OpenSocket["stream"]) =>
  Effect.callback<string>((resume) => {
    stream.screen = (chunk) => {
      // Whatever follows the answer was not sent over TLS.
      if (chunk.length > 1) throw new Error("said something before TLS")
      stream.screen = () => {
        throw new Error("said something before TLS")
      }
      resume(Effect.succeed(chunk.toString("latin1")))
      return Buffer.alloc(0)
    }
    stream.write(tlsRequest)
  })

const secured = Effect.fnUntraced(function* ({ secure, stream }: OpenSocket, ca?: string) {
  const answer = yield* answerToTls(stream)
  if (answer === "N") return yield* failure("The server offers no TLS")
  if (answer !== "S") return yield* failure("The server did not agree to TLS")
  yield* secure(ca)
})

const arrayReaderOf =
  ({ types }: Library): ArrayReader =>
  (text, element) =>
    types.arrayParser.create(text, (each) => (each === null ? null : element(each))).parse()

/** A client over a stream. The library takes what is not given from the environment. */
const clientOf = (
  { Client, Connection }: Library,
  stream: OpenSocket["stream"],
  signIn: SignIn,
): Client => {
  const { database, password, user } = signIn
  const client = new Client({
    connection: new Connection({ stream, ssl: false }),
    host: "guarded",
    port: 5432,
    user,
    database,
    password: () => password,
    ssl: false,
    sslnegotiation: "postgres",
  })
  client.getStartupConf = () => ({ user, database, application_name: "millrace" })
  client.on("error", () => {})
  return client
}

/** True for an error that the server sent. */
const isOfServer = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && "severity" in error && "code" in error && typeof error.code === "string"

/** Connections, conflicts with others, and a server that is full, starting or stopping. */
const passing = /^(?:08|40|53|55P03|57)/

const failureOf = (error: unknown): NodeError => {
  if (error instanceof NodeError) return error
  if (isOfServer(error)) {
    const message = `The database says: ${shown(error.message)} (${shown(error.code)})`
    return new NodeError(passing.test(error.code) ? { message } : { message, retryable: false })
  }
  const text = error instanceof Error ? error.message : ""
  if (text.startsWith("SASL")) return failure(`The sign-in failed: ${shown(text)}`)
  return new NodeError({ message: text.startsWith("Connection") ? brokenOff : unclear })
}

const asking = <A>(ask: () => Promise<A>) => Effect.tryPromise({ try: ask, catch: failureOf })

/** Begins a transaction; what it says of itself is read before the stranger's statement is sent. */
const beginning = ({ mayWrite, timeoutMillis }: Request): string =>
  [
    `BEGIN READ ${mayWrite ? "WRITE" : "ONLY"}`,
    `SET LOCAL statement_timeout = ${Math.ceil(timeoutMillis)}`,
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'iso_8601'",
    "SET LOCAL bytea_output = 'hex'",
    // After this, nothing can make a transaction that reads one that writes.
    "SELECT 1 FROM pg_catalog.pg_class WHERE relname OPERATOR(pg_catalog.=) 'millrace_migrations'",
  ].join("; ")

const begin = Effect.fnUntraced(function* (client: Client, request: Request) {
  const results = yield* asking(() => client.query(beginning(request)))
  const found = (results as ReadonlyArray<{ readonly rowCount: number | null }>).at(-1)
  if (found?.rowCount !== 0)
    return yield* failure("A database of Millrace itself may not be queried")
})

const submitted = (client: Client, request: Request, readArray: ArrayReader) =>
  Effect.callback<QueryResult, NodeError>((resume) => {
    const submission = new Submission(request, readArray, (outcome) =>
      resume(outcome instanceof Error ? Effect.fail(failureOf(outcome)) : Effect.succeed(outcome)),
    )
    client.query(submission)
  })

/** Ends the transaction; the server then sees that nobody is there any more, in order. */
const end = Effect.fnUntraced(function* (
  client: Client,
  stream: OpenSocket["stream"],
  command: "COMMIT" | "ROLLBACK",
) {
  const result = yield* asking(() => client.query(command))
  if ((result as { readonly command: string }).command !== command) {
    return yield* failure("The database did not commit the statement")
  }
  yield* Effect.callback<void>((resume) => {
    stream.end(goodbye, () => resume(Effect.void))
  })
})

/** Signs in and executes one statement. The caller closes the socket. */
export const execute = Effect.fnUntraced(function* (
  socket: OpenSocket,
  signIn: SignIn,
  request: Request,
): Effect.fn.Return<QueryResult, NodeError | EgressFailed> {
  const pg = yield* library
  const { stream } = socket
  if (signIn.tls !== null) yield* secured(socket, signIn.tls.ca)
  stream.screen = new Frames().accept
  const client = clientOf(pg, stream, signIn)
  yield* asking(() => client.connect())
  yield* begin(client, request)
  const result = yield* submitted(client, request, arrayReaderOf(pg))
  yield* end(client, stream, request.mayWrite ? "COMMIT" : "ROLLBACK")
  return result
})
