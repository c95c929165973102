/**
 * The calendar of cron texts, by the library croner.
 *
 * A text with one second, one minute and one hour is a fixed time. Where clocks are set back, and a
 * fixed time comes twice, only the first counts; where they are set forward over it, the first
 * moment behind the gap does. All other texts follow the clock on the wall: what comes twice counts
 * twice, and what does not come does not count.
 *
 * Guarantees: what was read once is kept, and schedules of one text share the search for its next
 * time. Leaves out: croner's timers; nothing is started here.
 */
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import { calendarsKept } from "@millrace/core/domain/Limits"
import { quoted } from "@millrace/core/domain/Quote"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Calendar, CronText } from "@millrace/core/ports/Calendar"
import { CurrentCalendar } from "@millrace/core/ports/Calendar"
import { Cron } from "croner"
import { Layer } from "effect"

const isZone = (timezone: string): boolean => {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: timezone }).format() !== "" && timezone !== ""
  } catch {
    return false
  }
}

/** What croner says, without the name of its class. It counts days and months from 0. */
const reasonOf = (cause: unknown): string =>
  cause instanceof Error
    ? cause.message.replace(/^Cron\w+: /, "").replace(/(^Invalid value for \w+): \d+$|\.$/, "$1")
    : String(cause)

/** How many fields a text has; croner would also take a date, which is due once. */
const fieldsOf = (cron: string): number => cron.trim().split(/\s+/).filter(Boolean).length

const isNickname = (cron: string): boolean => cron.trim().startsWith("@")

const make = (): Calendar => {
  const crons = new BoundedMap<string, Cron>(calendarsKept)
  const nexts = new BoundedMap<string, Timestamp | null>(calendarsKept)

  const read = ({ cron, timezone }: CronText): Cron => {
    const name = `${timezone}\n${cron}`
    const known = crons.get(name)
    if (known !== undefined) return known
    const made = new Cron(cron, { timezone, paused: true })
    crons.set(name, made)
    return made
  }

  return {
    problemOf: ({ cron, timezone }) => {
      if (!isZone(timezone)) {
        return `timezone: there is no time zone ${quoted(timezone)}; expected one as Europe/Berlin`
      }
      const fields = fieldsOf(cron)
      if (!isNickname(cron) && (fields < 5 || fields > 7)) {
        return `cron: expected 5, 6 or 7 fields, and ${quoted(cron)} has ${fields}`
      }
      try {
        read({ cron, timezone })
        return undefined
      } catch (cause) {
        return `cron: ${quoted(cron)} cannot be read: ${reasonOf(cause)}`
      }
    },
    next: (text, after) => {
      const name = `${after} ${text.timezone}\n${text.cron}`
      const known = nexts.get(name)
      if (known !== undefined) return known
      const next = read(text).nextRun(new Date(after))?.getTime() ?? null
      nexts.set(name, next)
      return next
    },
    previous: (text, before, count) => {
      // croner counts whole seconds, and would leave out the one in which the moment is.
      const moment = Math.ceil(before / 1_000) * 1_000
      const times = read(text).previousRuns(count, new Date(moment))
      return times.map((time) => time.getTime()).toSorted((left, right) => left - right)
    },
  }
}

/** The calendar of an engine. */
export const layer: Layer.Layer<never> = Layer.sync(CurrentCalendar, make)
