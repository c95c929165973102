/**
 * Turns a handler of web requests into a handler for `node:http`, Express and similar frameworks.
 *
 * Guarantees: bodies are streamed both ways, and the slower side sets the pace. If the client
 * disconnects, the request is aborted. The handler never throws. Leaves out: bodies that have been
 * read before; mount the handler in front of body parsers.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

/** A handler of Node's requests. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Express keeps the address that the client sent here, and cuts the mount path off `url`. */
interface Mounted {
  readonly originalUrl?: string
}

/**
 * The address that the client sent. Concatenated, because `new URL("//host/path", origin)` would
 * take the first part of the path for a host.
 */
const addressOf = (incoming: IncomingMessage & Mounted): string => {
  const url = incoming.originalUrl ?? incoming.url ?? "/"
  return url.startsWith("/") ? `http://localhost${url}` : url
}

const headersOf = ({ headersDistinct }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  return headers
}

const requestOf = (incoming: IncomingMessage, signal: AbortSignal): Request => {
  const { method = "GET" } = incoming
  const hasBody = method !== "GET" && method !== "HEAD"
  const body = hasBody ? { body: Readable.toWeb(incoming), duplex: "half" } : {}
  const init = { method, headers: headersOf(incoming), signal, ...body }
  return new Request(addressOf(incoming), init as RequestInit)
}

const send = async (answer: Response, outgoing: ServerResponse): Promise<void> => {
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (answer.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(answer.body), outgoing)
}

const malformed = (): Response =>
  Response.json({ error: "The request is malformed" }, { status: 400 })

/**
 * The same handler for Node's requests. If a framework mounts the handler under a path, set
 * `basePath` to that path, because the handler sees the whole address that the client sent:
 *
 * ```ts
 * const engine = await createEngine({ basePath: "/x/y" })
 * express().use("/x/y", toNodeHandler(engine.fetch))
 * ```
 */
export const toNodeHandler =
  (handle: (request: Request) => Promise<Response>): NodeHandler =>
  (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on("close", () => gone.abort())
    const answer = async () => {
      let request: Request
      try {
        request = requestOf(incoming, gone.signal)
      } catch {
        return malformed()
      }
      return handle(request)
    }
    answer()
      .then((response) => send(response, outgoing))
      .catch(() => outgoing.destroy())
  }
