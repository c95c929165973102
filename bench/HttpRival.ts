// What one would write by hand for reading a workflow with a key that has limits: the same check of
// the key, the same statement over the same driver, the same answer, on node:http or on fastify.
//
// `RIVAL` says which; with `+gathered` requests that arrive together share a statement, as they do
// in the server, and without they go out one by one over ten connections. Leaves out everything
// that a server does besides: other routes, errors with a form, deadlines, logs.
import { isWellFormed } from "@millrace/core/domain/ApiKey"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Admission as Answer } from "@millrace/core/ports/KeyStore"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { Postgres, Stores } from "@millrace/postgres"
import * as Admission from "../packages/postgres/src/internal/Admission.ts"
import { Effect, Layer, ManagedRuntime, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import Fastify from "fastify"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const [rival, gathered] = (process.env["RIVAL"] ?? "").split("+")
const url = Redacted.make(process.env["DATABASE_URL"] ?? "")
const client = Postgres.layer({ url, maxConnections: 10 })
const runtime = ManagedRuntime.make(Layer.provideMerge(Stores.layerStorage, client))

const [sql, store] = await runtime.runPromise(Effect.all([SqlClient, KeyStore]))

const admit = (hash: Uint8Array, ahead: WorkflowId): Promise<Answer> => {
  if (gathered !== undefined) return Effect.runPromise(store.admit(hash, ahead))
  const alone = Admission.admitAll(sql, [{ hash, ahead }])
  return Effect.runPromise(Effect.map(alone, ([first]) => first!))
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

const answer = async (authorization: string | undefined, id: string): Promise<Reply> => {
  const secret = /^Bearer (\S+)$/.exec(authorization ?? "")?.[1] ?? ""
  const refused = { status: 401, headers: {}, body: { error: "refused" } }
  if (!isWellFormed(secret)) return refused
  const hash = createHash("sha256").update(secret).digest()
  const admission = await admit(hash, WorkflowId.make(id))
  if (admission._tag === "Refused") return refused
  const headers = {
    "x-ratelimit-remaining": String(admission.window.remaining),
    "x-ratelimit-reset": String(admission.window.resetAt),
  }
  if (admission._tag === "Limited") return { status: 429, headers, body: { error: "limited" } }
  const found = admission.workflow ?? Option.none()
  if (Option.isNone(found)) return { status: 404, headers, body: { error: "not found" } }
  const { description, edges, name, nodes, revision, thumbnailUrl, updatedAt } = found.value
  const at = new Date(updatedAt).toISOString()
  const body = { id, name, description, thumbnailUrl, nodes, edges, updatedAt: at }
  return { status: 200, headers: { ...headers, etag: `"${revision}"` }, body }
}

const prefix = "/api/v1/workflows/"

const onNode = () =>
  new Promise<number>((resolve) => {
    const server = createServer((request, response) => {
      const id = request.url?.slice(prefix.length) ?? ""
      void answer(request.headers.authorization, id).then(({ body, headers, status }) => {
        const text = JSON.stringify(body)
        response.writeHead(status, {
          ...headers,
          "content-type": "application/json",
          "content-length": Buffer.byteLength(text),
        })
        response.end(text)
      })
    }).listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })

const onFastify = async () => {
  const app = Fastify()
  app.get<{ Params: { id: string } }>(`${prefix}:id`, async (request, response) => {
    const { body, headers, status } = await answer(request.headers.authorization, request.params.id)
    return response.code(status).headers(headers).send(body)
  })
  await app.listen({ host: "127.0.0.1", port: 0 })
  return (app.server.address() as AddressInfo).port
}

const port = await (rival === "fastify" ? onFastify() : onNode())
console.log(`listens on http://127.0.0.1:${port}`)
