/**
 * Reads the body of a message of Node's HTTP server. The HTTP adapter can read any stream, and that
 * takes a tenth of the processor's time of a start.
 *
 * Guarantees: keeps no more bytes than the limit. Leaves out requests with `Expect` or `Upgrade`:
 * the adapter has to answer something before their bodies come.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

/** What is used of an `IncomingMessage`; this package knows nothing else of Node. */
export interface Message {
  readonly readableEnded: boolean
  readonly destroyed: boolean
  on(event: string, listener: (value: never) => void): unknown
  off(event: string, listener: (value: never) => void): unknown
  destroy(): unknown
}

/** The body is larger than the limit, or its client stopped sending it. */
export type BodyProblem = "too large" | "incomplete"

/** The message of a request, if its body can be read here. */
export const messageOf = ({
  headers,
  source,
}: HttpServerRequest.HttpServerRequest): Message | undefined => {
  if (!("readableEnded" in source) || "expect" in headers || "upgrade" in headers) return undefined
  const message = source as unknown as Message
  return message.readableEnded || message.destroyed ? undefined : message
}

const joined = (chunks: ReadonlyArray<Uint8Array>, length: number): ArrayBuffer => {
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes.buffer
}

/** The bytes of a body. The rest of a body that is too large is received and thrown away. */
export const read = (message: Message, limit: number): Effect.Effect<ArrayBuffer, BodyProblem> =>
  Effect.callback((resume) => {
    const chunks: Array<Uint8Array> = []
    let length = 0
    const end = (result: Effect.Effect<ArrayBuffer, BodyProblem>): void => {
      stop()
      resume(result)
    }
    const onData = (chunk: Uint8Array): void => {
      length += chunk.byteLength
      if (length <= limit) return void chunks.push(chunk)
      end(Effect.fail("too large"))
    }
    const onEnd = (): void => end(Effect.succeed(joined(chunks, length)))
    const onFailure = (): void => end(Effect.fail("incomplete"))
    const stop = (): void => {
      message.off("data", onData)
      message.off("end", onEnd)
      message.off("error", onFailure)
      message.off("close", onFailure)
    }
    message.on("data", onData)
    message.on("end", onEnd)
    message.on("error", onFailure)
    message.on("close", onFailure)
    return Effect.sync(() => {
      stop()
      message.destroy()
    })
  })
