// Which values a request brings to a run, and what tells one request from another.
import { describe, expect, it } from "vitest"
import type { Json } from "../../src/domain/Json.ts"
import type { RequestField } from "../../src/graph/Request.ts"
import type { WebhookBody, WebhookRequest } from "../../src/engine/internal/WebhookRequest.ts"
import { below, nameOf, valuesOf } from "../../src/engine/internal/WebhookRequest.ts"

const request: WebhookRequest = {
  method: "PUT",
  headers: { "x-id": "7", "x.y": "dotted" },
  query: { page: "3", all: "true", tag: ["a", "b"] },
  body: new Uint8Array(),
}

const json = (value: Json): WebhookBody => ({ _tag: "Json", value })
const form = (value: Readonly<Record<string, string>>): WebhookBody => ({ _tag: "Texts", value })

const field = (name: string, type: RequestField["type"]): RequestField =>
  ({ name, type }) as RequestField

describe("below", () => {
  const value = { list: [{ a: 1 }, { a: 2 }], text: "abc", none: null, deep: { a: { b: 3 } } }

  it("finds what is at a path, in objects and lists", () => {
    expect(below(value, [])).toBe(value)
    expect(below(value, ["deep", "a", "b"])).toBe(3)
    expect(below(value, ["list", "1", "a"])).toBe(2)
    expect(below(value, ["none"])).toBe(null)
    const long = Array.from({ length: 12 }, (_, index) => index)
    expect(below(long, ["11"])).toBe(11)
  })

  it("finds nothing where a part is not there, or is no number of a list", () => {
    for (const path of ["list.2", "list.x", "list.1x", "list.x1", "list.length", "list.-1"]) {
      expect(below(value, path.split("."))).toBe(undefined)
    }
    for (const path of ["no", "no.way", "text.length", "text.0", "none.a", "toString"]) {
      expect(below(value, path.split("."))).toBe(undefined)
    }
  })
})

describe("nameOf", () => {
  const none = { dedupeBy: null, dedupeHeader: null }

  it("is the header that the webhook names, or the text of places", () => {
    const body = json({ order: { id: 5 } })
    expect(nameOf({ ...none, dedupeHeader: "x-id" }, request, body)).toBe("7")
    expect(nameOf({ ...none, dedupeHeader: "x-no" }, request, body)).toBe(undefined)
    const dedupeBy = "{{method}}-{{ headers.x-id }}-{{query.page}}-{{ body.order.id }}"
    expect(nameOf({ ...none, dedupeBy }, request, body)).toBe("PUT-7-3-5")
    expect(nameOf(none, request, body)).toBe(undefined)
  })
})

describe("valuesOf", () => {
  const none = { into: null, values: {} }
  const fields = [field("count", "number"), field("isNew", "boolean"), field("name", "string")]

  it("takes the fields that a workflow declares, and all where it declares none", () => {
    const body = json({ count: 1, more: 2 })
    expect(valuesOf(none, fields, request, body)).toEqual({ count: 1 })
    expect(valuesOf(none, [], request, body)).toEqual({ count: 1, more: 2 })
    expect(valuesOf({ ...none, values: { own: 0, count: 9 } }, [], request, body)).toEqual({
      own: 0,
      count: 1,
      more: 2,
    })
  })

  it("has none where the body has no fields and no place is named", () => {
    for (const value of [null, 1, "text", [1]]) {
      expect(valuesOf(none, [], request, json(value))).toBe(undefined)
    }
    const into = { all: "body" }
    expect(valuesOf({ ...none, into }, [], request, json([1]))).toEqual({ all: [1] })
  })

  it("reads texts of a form as what their fields are, and leaves others as they are", () => {
    const body = form({ count: "12.5", isNew: "true", name: "7" })
    expect(valuesOf(none, fields, request, body)).toEqual({ count: 12.5, isNew: true, name: "7" })
    const odd = form({ count: "twelve", isNew: "yes", name: "true" })
    expect(valuesOf(none, fields, request, odd)).toEqual({
      count: "twelve",
      isNew: "yes",
      name: "true",
    })
    expect(valuesOf(none, fields, request, form({ count: " ", isNew: "false" }))).toEqual({
      count: " ",
      isNew: false,
    })
    expect(valuesOf(none, fields, request, form({ count: "Infinity" }))).toEqual({
      count: "Infinity",
    })
  })

  it("leaves texts of a body of JSON as they are", () => {
    const body = json({ count: "12", isNew: "true" })
    expect(valuesOf(none, fields, request, body)).toEqual({ count: "12", isNew: "true" })
    const into = { count: "body.count", isNew: "body.isNew" }
    expect(valuesOf({ ...none, into }, fields, request, body)).toEqual({
      count: "12",
      isNew: "true",
    })
  })

  it("reads texts of places, and drops what is not there", () => {
    const into = {
      count: "query.page",
      isNew: "query.all",
      name: "headers.x.y",
      tags: "query.tag",
      id: "body.id",
      gone: "body.gone",
    }
    const placed = valuesOf({ ...none, into }, fields, request, form({ id: "5" }))
    expect(placed).toEqual({ count: 3, isNew: true, name: "dotted", tags: ["a", "b"], id: "5" })
    const typed = valuesOf(
      { ...none, into: { count: "body.n" } },
      fields,
      request,
      form({ n: "4" }),
    )
    expect(typed).toEqual({ count: 4 })
  })
})
