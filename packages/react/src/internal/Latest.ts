/**
 * Functions for those that must not be drawn again with each drawing of their canvas.
 */
import { useMemo, useRef } from "react"

/** The same functions with each drawing, which call the newest ones. */
export const useLatest = <A extends Record<string, (...given: never) => void>>(made: A): A => {
  const latest = useRef(made)
  latest.current = made
  return useMemo(
    () =>
      Object.fromEntries(
        Object.keys(made).map((name) => [
          name,
          (...given: ReadonlyArray<never>) => latest.current[name]!(...(given as never)),
        ]),
      ) as unknown as A,
    [],
  )
}
