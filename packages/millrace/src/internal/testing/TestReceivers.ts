/**
 * Answers webhooks in a test engine, in the place of servers, and records what they are sent.
 *
 * Guarantees: nothing leaves the process for an address that has a receiver. What a receiver gets
 * is signed as a real delivery is, and its answer is judged as a real one is. The record outlives a
 * crash of the process. Leaves out: other addresses, which go the usual way.
 */
import { invalid } from "@millrace/api/MillraceError"
import { listed, quoted } from "@millrace/core/domain/Quote"
import type { Answer, Call } from "@millrace/egress/Egress"
import { Egress, EgressFailed } from "@millrace/egress/Egress"
import { Effect, Layer } from "effect"
import type { InProgress } from "./InProgress.ts"
import type { Script } from "./Mock.ts"
import { answerOf } from "./Mock.ts"
import { OfRuns } from "./VirtualTime.ts"
import type { VirtualTime } from "./VirtualTime.ts"

/** What a receiver answers: a status, or a status with headers and a body. */
export type ReceiverAnswer =
  | number
  | {
      /** 204 by default. */
      readonly status?: number
      /** Headers by their names, such as `retry-after`. */
      readonly headers?: { readonly [name: string]: string }
      /** Empty by default. */
      readonly body?: string
    }

/** One attempt to deliver an event, as its receiver has seen it. */
export interface Received {
  /** The header `webhook-id`: the same for all attempts of a delivery. */
  readonly id: string
  /** From 1. */
  readonly attempt: number
  /** When it arrived, by the virtual clock. */
  readonly at: Date
  /** The body, read as JSON. */
  readonly event: unknown
  /** The body as it came, which the signature covers. */
  readonly body: string
  /** Names in lower case; with `webhook-signature`. */
  readonly headers: { readonly [name: string]: string }
  /** The status of the answer; absent while there is none. */
  readonly status?: number
}

/** What stands in for a receiver: a function, or a script whose failures are answers with 500. */
export type Receiver =
  | ((received: Received) => ReceiverAnswer | void | Promise<ReceiverAnswer | void>)
  | Script<ReceiverAnswer>

type Recorded = { -readonly [K in keyof Received]: Received[K] }

/** How long a receiver may take if the call does not say so. */
const usualTimeoutMillis = 30_000

/** Headers with their names in lower case. */
const lowered = (headers: Answer["headers"] = {}): Answer["headers"] =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]),
  )

/** The answer on the wire; its status is recorded. */
const answered = (received: Recorded, given: ReceiverAnswer | void): Answer => {
  const {
    body = "",
    headers,
    status = 204,
  } = typeof given === "number" ? { status: given } : (given ?? {})
  received.status = status
  return {
    status,
    headers: lowered(headers),
    body: Buffer.from(body),
    truncated: false,
  }
}

const hrefOf = (url: string): string | undefined =>
  URL.canParse(url) ? new URL(url).href : undefined

/** A receiver and what it got. Mutable. */
interface Place {
  readonly receiver: Receiver
  readonly got: Array<Recorded>
}

const isReceiver = (given: unknown): given is Receiver =>
  typeof given === "function" || Array.isArray((given as Partial<Script<unknown>> | null)?.steps)

/** A sleep that the virtual time moves to, as it does to the timers of runs. */
const sleep = (millis: number) => Effect.provideService(Effect.sleep(millis), OfRuns, true)

/** What the script says to an attempt to deliver. */
const played = (script: Script<ReceiverAnswer>, attempt: number) => {
  const { afterMillis, answer } = answerOf(script, attempt - 1)
  if (answer._tag === "Hangs") return Effect.never
  const given = answer._tag === "Gives" ? answer.outputs : { status: 500, body: "failed by a mock" }
  return afterMillis === 0 ? Effect.succeed(given) : Effect.as(sleep(afterMillis), given)
}

/** The receivers of a test engine over all its processes. Mutable. */
export class TestReceivers {
  readonly #time: VirtualTime
  readonly #places = new Map<string, Place>()

  /** Throws if what was given is no receiver. */
  constructor(time: VirtualTime, receivers: { readonly [url: string]: unknown }) {
    this.#time = time
    for (const [url, receiver] of Object.entries(receivers)) {
      const at = `testEngine: receivers: ${quoted(url)}`
      const href = hrefOf(url)
      if (href === undefined)
        throw invalid(`${at}: expected an address such as https://shop.example/`)
      if (!isReceiver(receiver)) {
        throw invalid(`${at}: expected a function, or gives(...), fails(...) or hangs()`)
      }
      this.#places.set(href, { receiver, got: [] })
    }
  }

  /** What was sent to a receiver, in order. */
  receivedBy(url: string): ReadonlyArray<Received> {
    const place = this.#placeOf(url)
    if (place !== undefined) return place.got
    const known = listed(this.#places.keys())
    throw invalid(`received: no receiver has the address ${quoted(url)}; known are ${known}`)
  }

  /** Wraps the guard for webhooks: requests to a receiver's address go to the receiver. */
  standIn(inProgress: InProgress): (usual: Layer.Layer<Egress>) => Layer.Layer<Egress> {
    const inFront = (usual: Egress["Service"]) =>
      Egress.of({
        ...usual,
        judge: (url) => (this.#placeOf(url) === undefined ? usual.judge(url) : Effect.void),
        request: (call) => {
          const place = this.#placeOf(call.url)
          return place === undefined ? usual.request(call) : this.#receive(place, call, inProgress)
        },
      })
    return (usual) => Layer.provide(Layer.effect(Egress, Effect.map(Egress, inFront)), usual)
  }

  #placeOf(url: string): Place | undefined {
    return this.#places.get(hrefOf(url) ?? "")
  }

  #receive({ got, receiver }: Place, call: Call, inProgress: InProgress) {
    return Effect.suspend(() => {
      const received = this.#recorded(got, call)
      got.push(received)
      const given =
        typeof receiver === "function"
          ? Effect.promise(() =>
              inProgress.beside(async () => receiver(received)).catch(() => ({ status: 500 })),
            )
          : played(receiver, received.attempt)
      const { maxBodyBytes = 0, timeoutMillis = usualTimeoutMillis } = call
      const late = EgressFailed.of("timeout", { timeoutMillis, maxBodyBytes })
      return Effect.raceFirst(
        Effect.map(given, (answer) => answered(received, answer)),
        Effect.andThen(sleep(timeoutMillis), Effect.fail(late)),
      )
    })
  }

  #recorded(got: ReadonlyArray<Recorded>, call: Call): Recorded {
    const headers = lowered(call.headers)
    const id = headers["webhook-id"] ?? ""
    const attempt = got.filter((each) => each.id === id).length + 1
    const body = Buffer.from(call.body ?? "").toString()
    const event: unknown = JSON.parse(body)
    return { id, attempt, at: new Date(this.#time.now), event, body, headers }
  }
}
