/**
 * What http_request does when a server sends it elsewhere: by the rules of fetch, through the
 * guard, and without what says who asks.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { Effect } from "effect"
import { expect } from "vitest"
import { call, callFailing, serve, text } from "./TestServer.ts"

/** What arrived. */
interface Request {
  readonly url: string
  readonly method: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

type Answering = (request: Request, response: ServerResponse) => void

/** A server that keeps what it was asked. */
const keeping = (answer: Answering) =>
  Effect.gen(function* () {
    const seen: Array<Request> = []
    const url = yield* serve((incoming, response) => {
      const { headers, method = "", url: path = "" } = incoming
      void text(incoming).then((body) => {
        seen.push({ url: path, method, headers, body })
        answer(seen.at(-1)!, response)
      })
    })
    return { seen, url }
  })

const end: Answering = (_request, response) => response.end("there")

/** A server that redirects to an address with a status. */
const redirecting = (status: number, location: string) =>
  keeping((_request, response) => response.writeHead(status, { location }).end())

const secret = (value: string, mayGoTo: (url: URL) => boolean) => ({
  name: "token",
  mayGoTo,
  occursIn: (found: string) => found.includes(value),
})

describe("a redirect of http_request", () => {
  it.live("is followed, relative ones and several, and the last answer is put out", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* keeping(({ url: path }, response) => {
        const left = Number(path.slice(1))
        if (left === 0) response.end("there")
        else response.writeHead(302, { location: `./${left - 1}` }).end()
      })
      const { body, response } = yield* call({ url: `${url}/5` })
      expect(body).toBe("there")
      expect(response).toMatchObject({ status: 200 })
      expect(seen.map((each) => each.url)).toEqual(["/5", "/4", "/3", "/2", "/1", "/0"])
    }),
  )

  it.live("is followed five times at most, or as often as the node says", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* redirecting(302, "/again")
      expect(yield* callFailing({ url })).toBe("HTTP 302 from 127.0.0.1 after 5 redirects")
      expect(seen).toHaveLength(6)
      expect(yield* callFailing({ url, redirects: 0 })).toBe(
        "HTTP 302 from 127.0.0.1; redirects are not followed",
      )
      const { response } = yield* call({ url, redirects: 0, acceptAnyStatus: true })
      expect(response).toMatchObject({ status: 302, headers: { location: "/again" } })
    }),
  )

  it.live("keeps or changes the method as fetch does", () =>
    Effect.gen(function* () {
      const target = yield* keeping(end)
      const arrived = (status: number, method: string) =>
        Effect.gen(function* () {
          const { url } = yield* redirecting(status, target.url)
          const inputs: JsonObject = {
            url,
            method,
            ...(method === "HEAD" ? {} : { body: { a: 1 } }),
          }
          yield* call(inputs)
          const { body, headers, method: then } = target.seen.at(-1)!
          return [then, body, headers["content-type"]]
        })
      const json = "application/json"
      for (const status of [301, 302]) {
        expect(yield* arrived(status, "POST")).toEqual(["GET", "", undefined])
        expect(yield* arrived(status, "PUT")).toEqual(["PUT", '{"a":1}', json])
        expect(yield* arrived(status, "HEAD")).toEqual(["HEAD", "", undefined])
      }
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        expect(yield* arrived(303, method)).toEqual(["GET", "", undefined])
        for (const status of [307, 308]) {
          expect(yield* arrived(status, method)).toEqual([method, '{"a":1}', json])
        }
      }
      expect(yield* arrived(303, "HEAD")).toEqual(["HEAD", "", undefined])
    }),
  )

  it.live("is the answer where the status is none of a redirect, or names no place", () =>
    Effect.gen(function* () {
      const target = yield* keeping(end)
      for (const status of [300, 304, 305]) {
        const { url } = yield* redirecting(status, target.url)
        expect(yield* callFailing({ url })).toBe(`HTTP ${status} from 127.0.0.1`)
      }
      const { url } = yield* keeping((_request, response) => response.writeHead(302).end())
      expect(yield* callFailing({ url })).toBe("HTTP 302 from 127.0.0.1")
      expect(target.seen).toEqual([])
    }),
  )

  it.live("is judged by the guard, whatever address it names", () =>
    Effect.gen(function* () {
      for (const [location, sentence] of [
        ["http://169.254.169.254/latest", "The URL does not lead to a public address"],
        ["http://10.0.0.1/", "The URL does not lead to a public address"],
        ["http://[::1]/", "The URL does not lead to a public address"],
        ["ftp://example.com/", "Only http and https URLs may be called"],
        ["file:///etc/passwd", "Only http and https URLs may be called"],
        ["http://me:pw@127.0.0.1/", "A URL with a user name or a password may not be called"],
      ] as const) {
        const { url } = yield* redirecting(302, location)
        expect(yield* callFailing({ url }), location).toBe(`After a redirect: ${sentence}`)
      }
      const { url } = yield* redirecting(302, "http://[")
      expect(yield* callFailing({ url })).toBe(
        "127.0.0.1 redirects to something that is no address",
      )
    }),
  )

  it.live("takes auth, cookies and headers of one's own along at the same origin", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* keeping(({ url: path }, response) => {
        if (path === "/b") response.end()
        else response.writeHead(307, { location: "/b" }).end()
      })
      const headers = { cookie: "a=b", "x-key": "k" }
      yield* call({ url, headers, auth: { type: "bearer", token: "t1" } })
      expect(seen[1]?.headers).toMatchObject({ ...headers, authorization: "Bearer t1" })
    }),
  )

  it.live("takes none of them to another origin, nor back from there", () =>
    Effect.gen(function* () {
      const home = yield* keeping(({ url: path }, response) => {
        if (path === "/back") response.end("back")
        else response.writeHead(307, { location: away.url }).end()
      })
      const away: { readonly url: string; readonly seen: ReadonlyArray<Request> } = yield* keeping(
        (_request, response) => response.writeHead(307, { location: `${home.url}/back` }).end(),
      )
      const headers = { Cookie: "a=b", "X-Key": "k", Accept: "text/csv", "User-Agent": "mine" }
      for (const auth of [
        { type: "bearer", token: "t1" },
        { type: "basic", username: "me", password: "t1" },
        { type: "header", name: "Accept-Language", value: "t1" },
      ] satisfies ReadonlyArray<Json>) {
        const confined = [secret("t1", () => true)]
        const inputs = { url: home.url, method: "POST", body: "b", headers, auth }
        const { body } = yield* call(inputs, { confined })
        expect(body).toBe("back")
        for (const { body: arrived, headers: there } of [away.seen.at(-1)!, home.seen.at(-1)!]) {
          expect(arrived).toBe("b")
          expect(there).toMatchObject({
            accept: "text/csv",
            "user-agent": "mine",
            "idempotency-key": "run_1:node",
            "content-type": "text/plain; charset=utf-8",
          })
          for (const name of ["cookie", "x-key", "authorization", "accept-language"]) {
            expect(there, name).not.toHaveProperty(name)
          }
        }
      }
    }),
  )

  it.live("fails the attempt where a secret stands in its address, and nothing arrives", () =>
    Effect.gen(function* () {
      const away = yield* keeping(end)
      // A server that puts what it was told into the address of another one.
      const { url } = yield* keeping(({ headers }, response) => {
        const token = headers.authorization?.slice("Bearer ".length) ?? ""
        response.writeHead(302, { location: `${away.url}/?token=${token}` }).end()
      })
      const { host } = new URL(url)
      const confined = [secret("t1-secret", (to) => to.host === host)]
      const auth = { type: "bearer", token: "t1-secret" }
      expect(yield* callFailing({ url, auth }, { confined })).toBe(
        'After a redirect: The secret "token" may not go to this address',
      )
      expect(away.seen).toEqual([])
    }),
  )
})
