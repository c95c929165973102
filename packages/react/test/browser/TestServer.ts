/**
 * A real server for browser tests: the engine over stores in memory, the HTTP interface, and a page
 * that shows a run, built from the sources, under a strict Content-Security-Policy.
 */
import type { Engine, NodeType } from "millrace"
import { createEngine, toNodeHandler } from "millrace"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import type { ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { extname, join } from "node:path"
import { build } from "vite"
import { cache } from "./Chromium.ts"
import type { Shown } from "./page/main.tsx"

const folder = join(cache, "millrace-react-page")
const nonce = "of-the-test"

const policy =
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; ` +
  "connect-src 'self'; img-src 'self' data:"

const kinds: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
}

/** Builds the page from the sources. */
export const buildPage = async (): Promise<void> => {
  const { NODE_ENV } = process.env
  // React is built as it is published, not as the test runner says.
  process.env["NODE_ENV"] = "production"
  await build({
    root: join(import.meta.dirname, "page"),
    logLevel: "error",
    resolve: { conditions: ["@millrace/source", "module", "browser", "production"] },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: "es2023",
      chunkSizeWarningLimit: 2_000,
    },
  }).finally(() => {
    process.env["NODE_ENV"] = NODE_ENV
  })
}

const sendFile = async (path: string, response: ServerResponse): Promise<void> => {
  const name = path === "/" ? "/index.html" : path
  const body = await readFile(join(folder, name)).catch(() => undefined)
  response.setHeader("content-security-policy", policy)
  response.setHeader("content-type", kinds[extname(name)] ?? "application/octet-stream")
  response.statusCode = body === undefined ? 404 : 200
  response.end(body)
}

/** A server, and the engine behind it. */
export class TestServer {
  readonly engine: Engine
  readonly #apiKey: string
  readonly #handle: ReturnType<typeof toNodeHandler>
  /** Bytes of all answers of the interface, in the order of the requests. */
  readonly answers: Array<{ readonly path: string; bytes: number }> = []
  #server = createServer()
  #port = 0

  private constructor(engine: Engine, apiKey: string) {
    this.engine = engine
    this.#apiKey = apiKey
    this.#handle = toNodeHandler(engine.fetch)
  }

  /** Starts a server with these node types beside the built-in ones. */
  static async start(nodes: ReadonlyArray<NodeType>): Promise<TestServer> {
    const engine = await createEngine({ nodes, webhooks: false })
    const { secret } = await engine.keys.create({ label: "page", perMinute: 10_000 })
    const made = new TestServer(engine, secret)
    await made.open()
    return made
  }

  /** Listens, on the same port as before if there was one. */
  async open(): Promise<void> {
    this.#server = createServer((request, response) => {
      const path = new URL(request.url ?? "/", "http://localhost").pathname
      if (/^\/(?:api|approvals)\//.test(path)) this.#handle(request, this.#counted(path, response))
      else void sendFile(path, response)
    })
    this.#server.listen(this.#port, "127.0.0.1")
    await once(this.#server, "listening")
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Counts what is written into a response. */
  #counted(path: string, response: ServerResponse): ServerResponse {
    const answer = { path, bytes: 0 }
    this.answers.push(answer)
    const write = response.write.bind(response)
    response.write = ((chunk: Uint8Array, ...rest: []) => {
      answer.bytes += chunk.length
      return write(chunk, ...rest)
    }) as typeof response.write
    return response
  }

  /** Breaks all connections, and listens no more. */
  async shut(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, "close")
  }

  async close(): Promise<void> {
    await this.shut()
    await this.engine.close()
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** The address of the page that shows this. */
  addressOf(shown: Omit<Shown, "apiKey" | "nonce">): string {
    const all: Shown = { ...shown, apiKey: this.#apiKey, nonce }
    return `${this.origin}/#${encodeURIComponent(JSON.stringify(all))}`
  }
}
