/**
 * The viewer's clock: the only place that reads it.
 *
 * Guarantees: components that show time passing are drawn again once a second, together. Leaves
 * out: by how much the server's clock differs; the follower of a run knows that.
 */
import { useSyncExternalStore } from "react"

/** Milliseconds since 1970 by the viewer's clock. */
export const readNow = (): number => Date.now()

const listeners = new Set<() => void>()
let current = 0
let timer: ReturnType<typeof setInterval> | undefined

const tick = () => {
  current = readNow()
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  timer ??= setInterval(tick, 1_000)
  current = readNow()
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

const never = () => () => {}

/** The time, which passes as long as `isPassing`. */
export const useNow = (isPassing: boolean): number =>
  useSyncExternalStore(
    isPassing ? subscribe : never,
    () => (current === 0 ? (current = readNow()) : current),
    () => 0,
  )
