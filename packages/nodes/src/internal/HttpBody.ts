/**
 * The bodies of HTTP requests: texts, JSON, forms, and forms with files.
 *
 * Guarantees: a field of a form cannot end its part or add a header. Throws an `Error` with a
 * clause for a value that has no such form. Leaves out: bodies that are streams.
 */
import type { Json } from "@millrace/core/domain/Json"
import { isJsonObject } from "@millrace/core/domain/Json"
import { quoted } from "@millrace/core/domain/Quote"
import { problemOfHeaders } from "@millrace/egress/Headers"
import { Result } from "effect"
import * as Base64 from "effect/encoding/Base64"

/** How a body is sent. */
export const bodyTypes = ["auto", "json", "text", "form", "multipart"] as const

export type BodyType = (typeof bodyTypes)[number]

/** A body as it is sent. */
export interface EncodedBody {
  readonly content: string | Uint8Array
  readonly type: string
}

const asText = (content: string): EncodedBody => ({ content, type: "text/plain; charset=utf-8" })

const asJson = (body: Json): EncodedBody => ({
  content: JSON.stringify(body),
  type: "application/json",
})

/** The fields of a form, those with several values once for each. */
const fieldsOf = (body: Json): ReadonlyArray<readonly [name: string, value: Json]> => {
  if (!isJsonObject(body)) throw new Error("body: a form is an object of fields")
  return Object.entries(body).flatMap(([name, value]) =>
    Array.isArray(value)
      ? (value as ReadonlyArray<Json>).map((each) => [name, each] as const)
      : [[name, value] as const],
  )
}

const textOf = (name: string, value: Json): string => {
  if (value !== null && typeof value !== "object") return String(value)
  throw new Error(`body: the field ${quoted(name)} is not a text, a number, true or false`)
}

const asForm = (body: Json): EncodedBody => {
  const fields = fieldsOf(body).map(([name, value]): [string, string] => [
    name,
    textOf(name, value),
  ])
  return {
    content: new URLSearchParams(fields).toString(),
    type: "application/x-www-form-urlencoded;charset=UTF-8",
  }
}

/** A name within the header of a part, as browsers write it. */
const escaped = (name: string): string =>
  name.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22")

const encoder = new TextEncoder()

/** The content of a file, and the headers of its part. */
const fileOf = (name: string, file: Json): readonly [headers: string, content: Uint8Array] => {
  const refuse = (why: string) => new Error(`body: the file ${quoted(name)} ${why}`)
  if (!isJsonObject(file)) throw refuse("is not an object")
  const { content, encoding = "text", filename, type = "application/octet-stream" } = file
  if (typeof filename !== "string" || typeof content !== "string") {
    throw refuse("needs a filename and a content, both texts")
  }
  const isHeader = typeof type === "string" && problemOfHeaders({ type }) === undefined
  if (!isHeader) throw refuse("has a type that is no media type")
  const bytes =
    encoding === "text"
      ? Result.succeed(encoder.encode(content))
      : encoding === "base64"
        ? Base64.decode(content)
        : Result.fail(undefined)
  if (Result.isFailure(bytes)) {
    throw refuse(encoding === "base64" ? "is no base64" : "has an encoding but text or base64")
  }
  return [`; filename="${escaped(filename)}"\r\nContent-Type: ${type}`, bytes.success]
}

const partOf = (name: string, value: Json): readonly [headers: string, content: Uint8Array] => {
  const [more, content] = isJsonObject(value)
    ? fileOf(name, value)
    : ["", encoder.encode(textOf(name, value))]
  return [`Content-Disposition: form-data; name="${escaped(name)}"${more}`, content]
}

const boundaryStem = "millrace-form-"

/** A boundary that stands in none of the parts; the same for the same parts. */
const boundaryFor = (parts: ReadonlyArray<Uint8Array>): string => {
  const latin1 = new TextDecoder("latin1")
  const taken = new Set<string>()
  for (const part of parts) {
    for (const [, digits] of latin1.decode(part).matchAll(/millrace-form-(\d{1,9})/g)) {
      // A longer number begins with this one.
      for (let length = 1; length <= digits!.length; length++) taken.add(digits!.slice(0, length))
    }
  }
  let number = 0
  while (taken.has(String(number))) number += 1
  return boundaryStem + number
}

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const asMultipart = (body: Json): EncodedBody => {
  const parts = fieldsOf(body).map(([name, value]) => partOf(name, value))
  const boundary = boundaryFor(parts.map(([, content]) => content))
  const pieces = parts.flatMap(([headers, content]) => [
    encoder.encode(`--${boundary}\r\n${headers}\r\n\r\n`),
    content,
    encoder.encode("\r\n"),
  ])
  return {
    content: joined([...pieces, encoder.encode(`--${boundary}--\r\n`)]),
    type: `multipart/form-data; boundary=${boundary}`,
  }
}

/** A body as it is sent. By default a text is sent as it is, and everything else as JSON. */
export const encodeBody = (body: Json, type: BodyType): EncodedBody => {
  switch (type) {
    case "auto":
      return typeof body === "string" ? asText(body) : asJson(body)
    case "json":
      return asJson(body)
    case "text":
      if (typeof body === "string") return asText(body)
      throw new Error("body: expected a text, because bodyType is text")
    case "form":
      return asForm(body)
    case "multipart":
      return asMultipart(body)
  }
}
