/**
 * Streams that go on: one that breaks off is replaced, until its reader stops.
 *
 * Guarantees: a refusal of the server is thrown at once. Leaves out: going on at a place; each
 * stream begins anew.
 */
import { MillraceError } from "../MillraceError.ts"
import { sleep } from "./Sleep.ts"

/** How long to wait before a broken stream is replaced. */
export const retryMillis = 1_000

/** After so many tries without an event, the last error is thrown. */
export const retriesInSequence = 30

/** True if asking again cannot help. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof MillraceError && (error.status ?? 0) < 500

/** The events of a stream, and of those that replace it. */
export const watch = async function* <E>(
  open: () => Promise<AsyncIterable<E>>,
  signal: AbortSignal | undefined,
): AsyncGenerator<E> {
  for (let tries = 1; ; tries++) {
    try {
      signal?.throwIfAborted()
      for await (const event of await open()) {
        tries = 0
        yield event
      }
    } catch (error) {
      const isOver = signal?.aborted === true || tries >= retriesInSequence
      if (isRefusal(error) || isOver) throw error
    }
    await sleep(retryMillis, signal)
  }
}
