/**
 * Which times a cron text names in a time zone.
 *
 * Contract: every method is pure. Times grow, none is named twice, and `next` and `previous` agree.
 * Leaves out: intervals, beginnings and ends; the engine adds them.
 */
import { Context } from "effect"
import type { Timestamp } from "../domain/Timestamp.ts"

/** A cron text in a time zone. */
export interface CronText {
  readonly cron: string
  readonly timezone: string
}

/** Says when a cron text is due. */
export interface Calendar {
  /** Why a text cannot be used, as a clause that names the field; `undefined` if it can. */
  readonly problemOf: (text: CronText) => string | undefined
  /** The first time after this one; `null` if there is none. The text can be used. */
  readonly next: (text: CronText, after: Timestamp) => Timestamp | null
  /** The last times before this one, at most so many, the earliest first. */
  readonly previous: (text: CronText, before: Timestamp, count: number) => ReadonlyArray<Timestamp>
}

const problem = "cron: this engine reads no cron texts; use everySeconds, or give it a calendar"

/** The calendar in use. By default there is none, and every cron text is refused. */
export const CurrentCalendar = Context.Reference<Calendar>("@millrace/core/ports/Calendar", {
  defaultValue: () => ({
    problemOf: () => problem,
    next: () => null,
    previous: () => [],
  }),
})
