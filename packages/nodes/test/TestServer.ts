/**
 * Servers on this machine, and calls of the http_request node to them.
 */
import type { IncomingMessage, RequestListener } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { JsonObject } from "@millrace/core/domain/Json"
import { Effect } from "effect"
import { httpRequest } from "../src/internal/HttpRequest.ts"
import * as Outbound from "../src/Outbound.ts"
import type { Setting } from "./TestNode.ts"
import { failing, run } from "./TestNode.ts"

/** A server as long as the scope; gives its address. */
export const serve = (listener: RequestListener) => {
  const server = createServer(listener)
  const listen = Effect.callback<string>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      resume(Effect.succeed(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
    })
  })
  const close = Effect.callback<void>((resume) => {
    server.closeAllConnections()
    server.close(() => resume(Effect.void))
  })
  return Effect.acquireRelease(listen, () => close)
}

const local = Outbound.layer([{ cidr: "127.0.0.1/32" }])

/** The outputs of a call. */
export const call = (inputs: JsonObject, setting?: Setting) =>
  Effect.provide(run(httpRequest, inputs, setting), local)

/** The sentence with which a call fails. */
export const callFailing = (inputs: JsonObject, setting?: Setting) =>
  Effect.provide(failing(httpRequest, inputs, setting), local)

/** The body of a request. */
export const text = async (request: IncomingMessage) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

/** Answers with what it was asked. */
export const echo: RequestListener = (request, response) => {
  const answer = async () => {
    const { headers, method, url } = request
    const type = headers["content-type"] ?? null
    response.setHeader("content-type", "application/json")
    const agent = headers["user-agent"]
    response.end(JSON.stringify({ method, url, type, agent, body: await text(request) }))
  }
  void answer()
}
