/**
 * What an HTTP request puts out of an answer, and which answers are failures.
 *
 * Leaves out: binary answers, which are read as text.
 */
import type { Json } from "@millrace/core/domain/Json"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { sentenceOf } from "@millrace/core/engine/NodeDefinition"
import type { Answer } from "@millrace/egress/Egress"
import { Effect } from "effect"

/** A failure, and whether another attempt can help. */
export const failure = (message: string, retryable: boolean): NodeError =>
  new NodeError(retryable ? { message } : { message, retryable })

/** True for a status that another attempt may not get. */
const passing = (status: number): boolean => status >= 500 || [408, 425, 429].includes(status)

/** The failure that a status means; `undefined` for success. `note` follows its sentence. */
export const problemOfStatus = (
  { status }: Answer,
  url: string,
  note: string,
): NodeError | undefined =>
  status >= 200 && status < 300
    ? undefined
    : failure(`HTTP ${status} from ${new URL(url).hostname}${note}`, passing(status))

const mediaType = (type: string): string => (type.split(";")[0] ?? "").trim().toLowerCase()

const isJson = (type: string): boolean =>
  ["application/json", "text/json"].includes(mediaType(type)) || mediaType(type).endsWith("+json")

const charset = /;\s*charset="?([\w.:-]{1,40})/i

const decoderFor = (type: string) => {
  const label = charset.exec(type)?.[1]
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder()
  }
}

/** The body of an answer: parsed JSON, or text, or `null` if it is empty. */
const decoded = ({ body, headers }: Answer): Json => {
  const coding = headers["content-encoding"] ?? "identity"
  if (coding !== "identity" && body.byteLength > 0) {
    throw new Error(`the answer is encoded as ${coding.slice(0, 40)}, which was not asked for`)
  }
  const type = headers["content-type"] ?? ""
  if (!isJson(type)) return decoderFor(type).decode(body)
  if (body.byteLength === 0) return null
  try {
    return JSON.parse(new TextDecoder().decode(body)) as Json
  } catch {
    throw new Error("the answer says that it is JSON, but it is not")
  }
}

/** What an answer puts out: status and headers, and the body. */
export const read = (answer: Answer) =>
  Effect.try({
    try: () => ({
      response: { status: answer.status, headers: answer.headers },
      body: decoded(answer),
    }),
    catch: (error) => failure(sentenceOf(error), false),
  })
