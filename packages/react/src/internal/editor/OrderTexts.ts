/**
 * What a start says of its order among runs, as texts of a form and back.
 *
 * Guarantees: pure. A field that is left empty is not given. Leaves out: what the server allows.
 */

/** The texts of the form. */
export interface StartOrderTexts {
  readonly priority: string
  /** A time in the zone of the browser, as its fields have it: `2026-03-01T06:00`. */
  readonly startAt: string
  readonly concurrencyKey: string
}

/** Nothing is given. */
export const noStartOrder: StartOrderTexts = { priority: "", startAt: "", concurrencyKey: "" }

/** The fields of a start. */
export const startOrderOf = ({ concurrencyKey, priority, startAt }: StartOrderTexts) => ({
  ...(priority === "" ? {} : { priority: Number(priority) }),
  ...(startAt === "" ? {} : { startAt: new Date(startAt).toISOString() }),
  ...(concurrencyKey === "" ? {} : { concurrencyKey }),
})
