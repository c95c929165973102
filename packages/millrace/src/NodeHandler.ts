/**
 * Turns a handler of web requests into a handler for `node:http`, Express and similar frameworks.
 *
 * Guarantees: bodies are streamed both ways, and the slower side sets the pace. If the client
 * disconnects, the request is aborted. The handler never throws. A body that a parser has read is
 * taken from `request.body`, where Express and others leave it.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

/** A handler of Node's requests. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Express keeps the address that the client sent here, and cuts the mount path off `url`. */
interface Mounted {
  readonly originalUrl?: string
  /** What a body parser has read. */
  readonly body?: unknown
}

/** A body parser has read the body and left it nowhere. */
class BodyWasRead extends Error {}

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

/** The body that a parser has read, as bytes. Form and content coding are no longer those sent. */
const parsedBody = ({ body }: Mounted, headers: Headers): Uint8Array => {
  if (body === undefined) throw new BodyWasRead()
  const bytes =
    body instanceof Uint8Array
      ? body
      : new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))
  headers.delete("content-encoding")
  headers.delete("transfer-encoding")
  headers.set("content-length", String(bytes.byteLength))
  return bytes
}

const requestOf = (incoming: IncomingMessage & Mounted, signal: AbortSignal): Request => {
  const { method = "GET" } = incoming
  const headers = headersOf(incoming)
  const isRead = incoming.readableDidRead || incoming.readableEnded
  const isEmpty = !headers.has("transfer-encoding") && !(Number(headers.get("content-length")) > 0)
  const bodyOf = () => (isRead ? parsedBody(incoming, headers) : Readable.toWeb(incoming))
  const hasBody = method !== "GET" && method !== "HEAD" && !(isRead && isEmpty)
  const body = hasBody ? { body: bodyOf(), duplex: "half" } : {}
  const init = { method, headers, signal, ...body }
  return new Request(addressOf(incoming), init as RequestInit)
}

const send = async (answer: Response, outgoing: ServerResponse): Promise<void> => {
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (answer.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(answer.body), outgoing)
}

const malformed = (error: unknown): Response => {
  const sentence =
    error instanceof BodyWasRead
      ? "A body parser has read the body: mount Millrace in front of it, or leave what it has " +
        "read in request.body"
      : "The request is malformed"
  return Response.json({ error: sentence }, { status: 400 })
}

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
      } catch (error) {
        return malformed(error)
      }
      return handle(request)
    }
    answer()
      .then((response) => send(response, outgoing))
      .catch(() => outgoing.destroy())
  }
