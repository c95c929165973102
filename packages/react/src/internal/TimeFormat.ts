/**
 * Times and durations as a viewer reads them.
 *
 * Guarantees: a time is in the viewer's zone, or in the one that the host names. Leaves out: words.
 */

/** Writes times. */
export interface TimeFormat {
  /** The zone, such as `Europe/Berlin`. */
  readonly zone: string
  /** Date and time to the second, with the zone. */
  readonly full: (time: string | number) => string
  /** The time of day to the millisecond. */
  readonly exact: (time: string | number) => string
}

/** Writes times in a language and a zone; by default those of the browser. */
export const timeFormat = (
  locale: string | undefined,
  timeZone: string | undefined,
): TimeFormat => {
  const of = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, timeZone === undefined ? options : { ...options, timeZone })
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const
  const date = { year: "numeric", month: "short", day: "numeric" } as const
  const full = of({ ...date, ...clock, timeZoneName: "short" })
  const exact = of({ ...clock, fractionalSecondDigits: 3, hourCycle: "h23" })
  return {
    zone: full.resolvedOptions().timeZone,
    full: (time) => full.format(new Date(time)),
    exact: (time) => exact.format(new Date(time)),
  }
}

/** A duration: `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export const durationText = (millis: number): string => {
  if (millis < 1_000) return `${Math.round(millis)} ms`
  if (millis < 59_950) return `${(millis / 1_000).toFixed(1)} s`
  const seconds = Math.round(millis / 1_000)
  const two = (whole: number, unit: string, rest: number, smaller: string) =>
    rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`
  if (seconds < 3_600) return two(Math.floor(seconds / 60), "min", seconds % 60, "s")
  const minutes = Math.round(seconds / 60)
  if (minutes < 1_440) return two(Math.floor(minutes / 60), "h", minutes % 60, "min")
  const hours = Math.round(minutes / 60)
  return two(Math.floor(hours / 24), "d", hours % 24, "h")
}
