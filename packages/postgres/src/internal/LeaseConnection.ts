/**
 * The database connection of the thread that keeps the lease, on the package `pg`: Effect and the
 * driver of the stores would take twice as much memory as the whole thread.
 *
 * Guarantees: an address means what it means to the driver of the stores. A statement that fails or
 * takes too long closes the connection, and the next one opens another. Leaves out: statements with
 * answers, and several at the same time.
 */
import { Client, type ClientConfig } from "pg"

/** A statement with its parameters. */
export type Statement = readonly [text: string, ...parameters: Array<string | number | null>]

const connectMillis = 5_000
const keepAliveMillis = 10_000

/** Which `sslmode` of an address asks for TLS. With the last two, a server may refuse it. */
const secure = ["require", "verify-ca", "verify-full", "prefer", "allow"]
const mayRefuse = ["prefer", "allow"]

/** How `pg` connects to an address, as often as needed: without TLS if the server refuses it. */
export const configsOf = (address: string): ReadonlyArray<ClientConfig> => {
  const url = new URL(address)
  const of = (name: string, part = ""): string | undefined =>
    url.searchParams.get(name) ?? (part === "" ? undefined : decodeURIComponent(part))
  const sslMode = of("sslmode") ?? "disable"
  const config: ClientConfig = {
    host: of("host", url.hostname.replace(/^\[(.*)\]$/, "$1")) ?? "localhost",
    port: Number(of("port", url.port) ?? 5432),
    user: of("user", url.username),
    password: of("password", url.password),
    database: of("dbname", url.pathname.slice(1)),
    options: of("options"),
    application_name: "millrace",
    ssl: secure.includes(sslMode),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMillis,
    connectionTimeoutMillis: connectMillis,
  }
  return mayRefuse.includes(sslMode) ? [config, { ...config, ssl: false }] : [config]
}

const isRefusedTls = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("does not support SSL")

/** Ends a client, whatever state it is in. */
const drop = (client: Client): void => {
  client.on("error", () => undefined)
  client.end().catch(() => undefined)
}

/** Mutable. */
export class LeaseConnection {
  readonly #configs: ReadonlyArray<ClientConfig>
  #client: Promise<Client> | undefined

  constructor(address: string) {
    this.#configs = configsOf(address)
  }

  async #open(): Promise<Client> {
    const [config, ...others] = this.#configs
    const attempt = async (tried: ClientConfig | undefined, next: Array<ClientConfig>) => {
      const client = new Client(tried)
      client.on("error", () => void (this.#client = undefined))
      try {
        await client.connect()
        return client
      } catch (error) {
        drop(client)
        if (next.length === 0 || !isRefusedTls(error)) throw error
        return await attempt(next[0], next.slice(1))
      }
    }
    return await attempt(config, others)
  }

  /** Sends statements one after the other. Fails if they take longer than `millis`. */
  async send(millis: number, ...statements: ReadonlyArray<Statement>): Promise<void> {
    const connecting = (this.#client ??= this.#open())
    const all = async () => {
      const client = await connecting
      for (const [text, ...values] of statements) await client.query({ text, values })
    }
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Error(`no answer within ${millis} ms`)), millis)
    try {
      await Promise.race([all(), late])
    } catch (error) {
      if (this.#client === connecting) this.#client = undefined
      connecting.then(drop, () => undefined)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Closes the connection. */
  close(): void {
    this.#client?.then(drop, () => undefined)
    this.#client = undefined
  }
}
