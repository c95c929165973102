/**
 * One attempt: a request as Standard Webhooks defines it, through the egress guard, and its result.
 *
 * Guarantees: identifier and body are the same in every attempt, and the time is the current one.
 * Of the answer, 64 KiB are read and 4 KiB are kept. One timeout bounds the whole attempt. The log
 * names classes of failures and no addresses. Leaves out: what follows from an answer.
 */
import type { AttemptError, Delivery } from "@millrace/core/domain/Delivery"
import { answerText } from "@millrace/core/domain/Delivery"
import type { DeliveryAnswer } from "@millrace/core/domain/DeliverySchedule"
import type { Attempted } from "@millrace/core/domain/DeliveryStep"
import { keptAnswerBytes, readAnswerBytes } from "@millrace/core/domain/Limits"
import type { Egress, EgressFailed, EgressRefused } from "@millrace/egress/Egress"
import type { Answer as Received, Call } from "@millrace/egress/Egress"
import { Effect } from "effect"
import * as CustomHeaders from "./CustomHeaders.ts"
import type { SigningKey } from "../Signature.ts"
import { sign } from "../Signature.ts"

/** A delivery, and all that an attempt needs besides. */
export interface Sending {
  readonly delivery: Delivery
  /** The headers that the client asked for, if any. */
  readonly headers: CustomHeaders.Headers | null
  /** The live signing keys. */
  readonly keys: ReadonlyArray<SigningKey>
  readonly timeoutMillis: number
}

/** The result of an attempt: for the schedule, and for the log. */
export interface Sent {
  readonly answer: DeliveryAnswer
  readonly attempt: Attempted
}

const headersOf = ({ delivery, headers, keys }: Sending, now: number, body: Uint8Array) => {
  const timestampSeconds = Math.floor(now / 1_000)
  const own = {
    "content-type": "application/json",
    "user-agent": "Millrace",
    "webhook-id": delivery.id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": sign({ id: delivery.id, timestampSeconds, body }, keys),
  }
  return headers === null ? own : { ...CustomHeaders.allowed(headers), ...own }
}

/** The class of a failure, for the log. The dispatcher bounds its requests, so none is crowded. */
const errorOf = ({ reason }: EgressRefused | EgressFailed): AttemptError =>
  reason === "too-large" || reason === "crowded" ? "protocol" : reason

const isGood = (status: number): boolean => status >= 200 && status < 300

/** The result of a call: for the schedule, and for the log. */
interface Reading {
  readonly answer: DeliveryAnswer
  readonly outcome: Pick<Attempted, "status" | "error" | "answer">
}

const answered = ({ body, headers, status }: Received): Reading => ({
  answer: { _tag: "Answered", status, retryAfter: headers["retry-after"] },
  outcome: { status, error: isGood(status) ? null : "status", answer: answerText(body) },
})

const unanswered = (error: AttemptError): Reading => ({
  answer: { _tag: "Unanswered", error },
  outcome: { status: null, error, answer: null },
})

const callOf = (sending: Sending, now: number, body: Uint8Array): Call => ({
  method: "POST",
  url: sending.delivery.url,
  headers: headersOf(sending, now, body),
  body,
  timeoutMillis: sending.timeoutMillis,
  maxBodyBytes: readAnswerBytes,
  keptBodyBytes: keptAnswerBytes,
  overflow: "truncate",
})

/** Sends a delivery once. Never fails. If it is interrupted, the end of the attempt is unknown. */
export const attempt = (egress: Egress["Service"], sending: Sending): Effect.Effect<Sent> =>
  Effect.clockWith((clock) => {
    const at = clock.currentTimeMillisUnsafe()
    const begun = clock.monotonicTimeNanosUnsafe()
    const over = ({ answer, outcome }: Reading): Sent => {
      const durationMillis = Number((clock.monotonicTimeNanosUnsafe() - begun) / 1_000_000n)
      return { answer, attempt: { at, durationMillis, ...outcome } }
    }
    return Effect.match(egress.request(callOf(sending, at, Buffer.from(sending.delivery.body))), {
      onSuccess: (received) => over(answered(received)),
      onFailure: (failure) => over(unanswered(errorOf(failure))),
    })
  })
