/**
 * Times, numbers and credits as the viewer reads them: their own language and time zone.
 */

const time = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
})

/** The viewer's time zone: `Europe/Berlin`. */
export const timeZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** A time in the viewer's zone; a dash where there is none. */
export const timeText = (at: string | null): string =>
  at === null ? "–" : time.format(new Date(at))

/** How long something took: `1.2 s`; empty while it lasts. */
export const durationText = (from: string | null, until: string | null): string => {
  if (from === null || until === null) return ""
  const millis = Math.max(0, Date.parse(until) - Date.parse(from))
  if (millis < 1_000) return `${millis} ms`
  if (millis < 60_000) return `${(millis / 1_000).toFixed(1)} s`
  const minutes = Math.floor(millis / 60_000)
  return minutes < 60
    ? `${minutes} min ${Math.round((millis % 60_000) / 1_000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 })

/** A number of credits, requests or runs. */
export const numberText = (value: number): string => number.format(value)

/** `1 run`, `2 runs`. */
export const countText = (count: number, one: string): string =>
  `${number.format(count)} ${one}${count === 1 ? "" : "s"}`
