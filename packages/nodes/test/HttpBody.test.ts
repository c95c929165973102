/**
 * The bodies and the `auth` of http_request, as servers read them.
 */
import { describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { Effect } from "effect"
import { expect } from "vitest"
import { encodeBody } from "../src/internal/HttpBody.ts"
import { httpRequest } from "../src/internal/HttpRequest.ts"
import { clauses, isClean, json } from "./TestNode.ts"
import { call, callFailing, echo, serve } from "./TestServer.ts"

/** The headers and the content of each part of a form, as a server reads it. */
const partsOf = (body: Json) => {
  const { content, type } = encodeBody(body, "multipart")
  const [, boundary] = /^multipart\/form-data; boundary=(\S+)$/.exec(type) ?? []
  const [first, ...parts] = `\r\n${new TextDecoder().decode(content as Uint8Array)}`.split(
    `\r\n--${boundary}`,
  )
  expect([first, parts.pop()]).toEqual(["", "--\r\n"])
  return parts.map((part) => {
    const end = part.indexOf("\r\n\r\n")
    return [part.slice(2, end).split("\r\n"), part.slice(end + 4)] as const
  })
}

const disposition = (rest: string) => `Content-Disposition: form-data; name=${rest}`

describe("the auth of http_request", () => {
  const authorization = (auth: Json, headers: JsonObject = {}) =>
    Effect.gen(function* () {
      const url = yield* serve((request, response) => {
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify(request.headers))
      })
      return (yield* call({ url, auth, headers }))["body"]
    })

  it.live("is a token, a name with a password, or a header", () =>
    Effect.gen(function* () {
      expect(yield* authorization({ type: "bearer", token: "t1" })).toMatchObject({
        authorization: "Bearer t1",
      })
      const basic = { type: "basic", username: "aladdin", password: "opensesame" }
      expect(yield* authorization(basic)).toMatchObject({
        authorization: "Basic YWxhZGRpbjpvcGVuc2VzYW1l",
      })
      expect(yield* authorization({ type: "basic", username: "ü", password: "" })).toMatchObject({
        authorization: "Basic w7w6",
      })
      expect(
        yield* authorization({ type: "header", name: "X-Key", value: "k" }, { accept: "a/b" }),
      ).toMatchObject({ "x-key": "k", accept: "a/b" })
    }),
  )

  it.live("is refused beside a header of the same name, and where it is no header", () =>
    Effect.gen(function* () {
      const url = yield* serve(echo)
      const auth = { type: "bearer", token: "t1" }
      expect(yield* callFailing({ url, auth, headers: { Authorization: "x" } })).toBe(
        "headers: Authorization is set by auth, too; keep one of them",
      )
      const split = { type: "bearer", token: "t1\r\nx: y" }
      expect(yield* callFailing({ url, auth: split })).toBe(
        'The value of the header "authorization" is not valid',
      )
    }),
  )

  it("says at the start what is wrong with it", () => {
    const check = (auth: Json) => clauses(httpRequest, "auth", auth)
    expect(check({ type: "basic", username: "a", password: "" })).toEqual([])
    expect(check("Bearer x")).toEqual(["expected an object with a type"])
    expect(check({ type: "oauth" })).toEqual(["[type]: expected bearer, basic or header"])
    expect(check(json('{"type": "__proto__"}'))).toHaveLength(1)
    expect(check({ type: "bearer" })).toEqual(["[token]: expected a text"])
    expect(check({ type: "bearer", token: "" })).toEqual([
      "[token]: expected a text that is not empty",
    ])
    expect(check({ type: "basic", username: "a:b", password: "c" })).toEqual([
      "[username]: a user name has no colon",
    ])
    expect(check({ type: "header", name: "host", value: "c" })).toEqual([
      '[name]: The header "host" may not be set',
    ])
    expect(check({ type: "bearer", token: "a", user: "b" })).toEqual([
      "[user]: expected only type, token",
    ])
  })
})

describe("the body of http_request", () => {
  const sent = (inputs: JsonObject) =>
    Effect.gen(function* () {
      const url = yield* serve(echo)
      const { body } = yield* call({ url, method: "POST", ...inputs })
      return body as JsonObject
    })

  it.live("is JSON, a text or a form where the node says so", () =>
    Effect.gen(function* () {
      expect(yield* sent({ body: "a", bodyType: "json" })).toMatchObject({
        type: "application/json",
        body: '"a"',
      })
      const form = { "a b": "x&y", n: 1, yes: true, list: ["p", "q"] }
      expect(yield* sent({ body: form, bodyType: "form" })).toMatchObject({
        type: "application/x-www-form-urlencoded;charset=UTF-8",
        body: "a+b=x%26y&n=1&yes=true&list=p&list=q",
      })
      expect(yield* sent({ body: { a: 1 }, bodyType: "multipart" })).toMatchObject({
        type: "multipart/form-data; boundary=millrace-form-0",
        body:
          '--millrace-form-0\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' +
          "--millrace-form-0--\r\n",
      })
    }),
  )

  it("has a part for each value, and files with their names and types", () => {
    const file = { filename: 'a "b".txt', content: "hällo", type: "text/plain" }
    const bytes = { filename: "b.bin", content: "AAEC", encoding: "base64" }
    expect(partsOf({ name: "Ada", n: 2, files: [file, bytes] })).toEqual([
      [[disposition('"name"')], "Ada"],
      [[disposition('"n"')], "2"],
      [[disposition('"files"; filename="a %22b%22.txt"'), "Content-Type: text/plain"], "hällo"],
      [
        [disposition('"files"; filename="b.bin"'), "Content-Type: application/octet-stream"],
        "\u0000\u0001\u0002",
      ],
    ])
  })

  it("cannot be split into other parts by what stands in it", () => {
    const evil = "\r\n--millrace-form-0\r\nContent-Disposition: form-data; name=admin\r\n\r\n1"
    const fields = json(JSON.stringify({ a: evil, b: `${evil}--millrace-form-12`, __p: "x" }))
    expect(partsOf(fields).map(([, content]) => content)).toEqual(Object.values(fields))
    const upload = { filename: 'f"\r\nx: y\r\n\r\nz', content: "1" }
    for (const [headers] of partsOf({ 'a"\r\nx: y\r\n\r\n': "1", upload })) {
      expect(headers.filter((header) => header.startsWith("x"))).toEqual([])
    }
    expect(isClean()).toBe(true)
  })

  it.live("fails with one sentence where it has no such form", () =>
    Effect.gen(function* () {
      const failing = (bodyType: string, body: Json) =>
        callFailing({ url: "https://example.com/", method: "POST", bodyType, body })
      const file = { filename: "f", content: "a" }
      expect(yield* failing("text", 1)).toBe("body: expected a text, because bodyType is text")
      expect(yield* failing("form", [1])).toBe("body: a form is an object of fields")
      expect(yield* failing("form", { a: { b: 1 } })).toBe(
        'body: the field "a" is not a text, a number, true or false',
      )
      expect(yield* failing("multipart", { a: null })).toBe(
        'body: the field "a" is not a text, a number, true or false',
      )
      expect(yield* failing("multipart", { a: { content: "x" } })).toBe(
        'body: the file "a" needs a filename and a content, both texts',
      )
      expect(yield* failing("multipart", { a: { ...file, encoding: "base64" } })).toBe(
        'body: the file "a" is no base64',
      )
      expect(yield* failing("multipart", { a: { ...file, encoding: "hex" } })).toBe(
        'body: the file "a" has an encoding but text or base64',
      )
      expect(yield* failing("multipart", { a: { ...file, type: "a\r\nb: c" } })).toBe(
        'body: the file "a" has a type that is no media type',
      )
    }),
  )
})
