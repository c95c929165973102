/**
 * A handler of web requests as a handler of Node's, for `node:http`, Express and whatever is like
 * them.
 *
 * Guarantees: bodies are streamed both ways at the pace of whoever is slower; a client that hangs
 * up gives its request up; never throws. Leaves out: a body that somebody has read before: mount it
 * in front of body parsers.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

/** Answers one request of Node's. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Where a mounting framework keeps the address as it came, when it cuts its own part off. */
interface Mounted {
  readonly originalUrl?: string
}

/**
 * The address as it came. Put together by hand, because resolving `//host/path` against an origin
 * would take the first part of the path for a host.
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
 * The same handler for Node's requests. Where a framework mounts it under a path, the address is
 * the one that the client sent, so `basePath` is what stands before `/api/v1` there:
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
