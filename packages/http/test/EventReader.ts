/**
 * Reads a stream of server-sent events under a test clock, which it moves on while it waits.
 */
import { Effect } from "effect"
import { TestClock } from "effect/testing"

/** One event as it came. */
export interface Received {
  readonly id: string | undefined
  readonly event: string
  readonly data: any
}

const parse = (frame: string): Received => {
  const fields = new Map(
    frame.split("\n").map((line) => {
      const colon = line.indexOf(": ")
      return [line.slice(0, colon), line.slice(colon + 2)] as const
    }),
  )
  return {
    id: fields.get("id"),
    event: fields.get("event") ?? "",
    data: JSON.parse(fields.get("data") ?? "null"),
  }
}

/** Gives what does not wait for the clock a few turns of the loop: it takes several of them. */
const settle = Effect.promise(async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
})

/** A stream that is being read. */
export class EventReader {
  readonly status: number
  readonly headers: Headers
  /** Comments, which keep the line alive. */
  comments = 0
  /** True once the server has ended the stream. */
  hasEnded = false
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  readonly #decoder = new TextDecoder()
  #text = ""

  constructor(response: Response) {
    this.status = response.status
    this.headers = response.headers
    this.#reader = response.body?.getReader()
  }

  /** The next event; `undefined` at the end, or once so much time went by without one. */
  next(stepMillis = 100, steps = 100): Effect.Effect<Received | undefined> {
    return Effect.gen({ self: this }, function* () {
      while (true) {
        const end = this.#text.indexOf("\n\n")
        if (end >= 0) {
          const frame = this.#text.slice(0, end)
          this.#text = this.#text.slice(end + 2)
          if (frame !== ":") return parse(frame)
          this.comments += 1
          continue
        }
        if (this.hasEnded || this.#reader === undefined) return undefined
        if (!(yield* this.#more(this.#reader, stepMillis, steps))) return undefined
      }
    })
  }

  /** Everything up to the end. */
  rest(): Effect.Effect<ReadonlyArray<Received>> {
    return Effect.gen({ self: this }, function* () {
      const all: Array<Received> = []
      for (let one = yield* this.next(); one !== undefined; one = yield* this.next()) all.push(one)
      return all
    })
  }

  /** Hangs up. */
  readonly close = Effect.promise(async () => this.#reader?.cancel())

  #pending: Promise<void> | undefined

  /** False when nothing came in time. */
  #more(reader: ReadableStreamDefaultReader<Uint8Array>, stepMillis: number, steps: number) {
    return Effect.gen({ self: this }, function* () {
      this.#pending ??= reader.read().then(({ done, value }) => {
        this.#pending = undefined
        this.hasEnded = done
        this.#text += this.#decoder.decode(value, { stream: true })
      })
      yield* settle
      for (let step = 0; step < steps && this.#pending !== undefined; step++) {
        yield* TestClock.adjust(stepMillis)
        yield* settle
      }
      return this.#pending === undefined
    })
  }
}
