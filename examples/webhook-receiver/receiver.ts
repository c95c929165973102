// A receiver of webhooks that needs nothing but Node. It takes the body as it comes, verifies it,
// takes each event once, and answers at once.
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders, Server } from "node:http"
import { createServer } from "node:http"

/** What an event says, as far as this receiver looks. */
export interface Payload {
  readonly type: string
  readonly runId: string
  readonly metadata: unknown
  readonly data: { readonly sequence: number }
}

/** How old a request may be, in seconds. */
const tolerance = 300

/** True for a request that was signed with this secret a short while ago. */
export const verify = (secret: string, headers: IncomingHttpHeaders, body: Buffer): boolean => {
  const timestamp = String(headers["webhook-timestamp"])
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) <= tolerance)) return false
  const key = Buffer.from(secret.replace("whsec_", ""), "base64")
  const signed = `${String(headers["webhook-id"])}.${timestamp}.`
  const mac = createHmac("sha256", key).update(signed).update(body).digest("base64")
  const expected = Buffer.from(`v1,${mac}`)
  return String(headers["webhook-signature"])
    .split(" ")
    .map((each) => Buffer.from(each))
    .some((each) => each.length === expected.length && timingSafeEqual(each, expected))
}

/** Receives with this secret; every event is handed on once, however often it is sent. */
export const makeReceiver = (
  secretOf: () => string,
  onEvent: (payload: Payload) => void,
): Server => {
  const seen = new Set<string>()
  return createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks)
      if (!verify(secretOf(), request.headers, body)) {
        response.writeHead(401).end()
        return
      }
      const id = String(request.headers["webhook-id"])
      // What takes longer than a moment belongs into a queue, behind this answer.
      response.writeHead(204).end()
      if (seen.has(id)) return
      seen.add(id)
      onEvent(JSON.parse(body.toString()) as Payload)
    })
  })
}
