/**
 * Refuses requests whose path, query or headers have the wrong form.
 *
 * Guarantees: a query that is not UTF-8 is refused; otherwise U+FFFD would replace the bad bytes. A
 * refusal names the place of a wrong value and never shows the value. Leaves out: bodies, and
 * unknown addresses.
 */
import { sentenceOf } from "@millrace/api/Sentence"
import { Result, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { InvalidRequest } from "../Errors.ts"
import type { OperationRequest } from "./Operation.ts"

/** What is read of a request before its body: the fields of an operation's input. */
export type RequestParts = Readonly<Record<string, unknown>>

/** Reads one part, into a field of its name. */
interface PartReader {
  readonly name: string
  readonly read: (arrived: OperationRequest) => Result.Result<unknown, InvalidRequest>
}

/** True for an address whose percent-encoding stands for UTF-8. */
const isDecodable = (url: string): boolean => {
  if (!url.includes("%")) return true
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

const readerOf = (
  schema: Schema.Top | undefined,
  name: string,
  place: string,
  errors: "all" | "first",
  of: (arrived: OperationRequest) => unknown,
): ReadonlyArray<PartReader> => {
  if (schema === undefined) return []
  const decode = Schema.decodeUnknownResult(schema as Schema.Codec<unknown>, { errors })
  const word = ({ issue }: Schema.SchemaError) =>
    new InvalidRequest({ message: sentenceOf(issue, place) })
  return [{ name, read: (arrived) => Result.mapError(decode(of(arrived)), word) }]
}

/** A function that reads path, headers and query of requests, or says what is wrong first. */
export const make = ({ headers, params, query }: HttpApiEndpoint.Top) => {
  const queries = query === undefined ? undefined : Schema.toCodecArrayFromSingle(query)
  const readers = [
    ...readerOf(params, "params", "path", "all", (arrived) => arrived.params),
    ...readerOf(headers, "headers", "headers", "first", ({ request }) => request.headers),
    ...readerOf(queries, "query", "query", "all", (arrived) => arrived.query),
  ]
  return (arrived: OperationRequest): Result.Result<RequestParts, InvalidRequest> => {
    if (!isDecodable(arrived.request.url)) {
      return Result.fail(new InvalidRequest({ message: "query: expected percent-encoded UTF-8" }))
    }
    const parts: Record<string, unknown> = {}
    for (const { name, read } of readers) {
      const part = read(arrived)
      if (Result.isFailure(part)) return Result.fail(part.failure)
      parts[name] = part.success
    }
    return Result.succeed(parts)
  }
}
