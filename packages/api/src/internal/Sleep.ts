/**
 * Waiting, with a signal that ends the wait.
 */

/** Resolves after a time. Rejects when the signal is aborted. */
export const sleep = (millis: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, millis)
    signal?.addEventListener("abort", stop, { once: true })
  })
