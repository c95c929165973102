/**
 * A variable for every bound in `Limits`, by one rule: that of `runsAtOnce` is
 * `MILLRACE_LIMIT_RUNS_AT_ONCE`.
 *
 * Guarantees: a bound that is added has its variable, its line of help and its check at once.
 * Leaves out: what the bounds are; `@millrace/core/domain/Limits` says that.
 */
import type { Limit, Limits } from "@millrace/core/domain/Limits"
import { limitNames, limits } from "@millrace/core/domain/Limits"
import type { Read, Variable, Variables } from "./Variable.ts"

/** What the names of all of these variables begin with. */
export const limitPrefix = "MILLRACE_LIMIT_"

/** What stands for no bound. */
const none = "none"

/** The largest number that every store can count to. */
const most = 2_147_483_647

const readFrom =
  (least: number): Read<number> =>
  (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : 0
    return value >= least && value <= most ? value : undefined
  }

const readOptional =
  (least: number): Read<number> =>
  (text) =>
    text === none ? Number.POSITIVE_INFINITY : readFrom(least)(text)

const nameOf = (limit: string): string =>
  limitPrefix + limit.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()

/** The variable of a bound, by what that is called in code. */
export const limitVariable = (name: string, { isOptional, least = 1 }: Limit): Variable<number> => {
  const expected = `a whole number from ${least}`
  return isOptional === true
    ? { name: nameOf(name), expected: `${expected}, or ${none}`, read: readOptional(least) }
    : { name: nameOf(name), expected, read: readFrom(least) }
}

/** The variables of all bounds. */
export const limitVariables = Object.fromEntries(
  limitNames.map((name) => [name, limitVariable(name, limits[name])]),
) as Variables<Limits>

const shown = (value: number): string => (Number.isFinite(value) ? String(value) : none)

/** A line for each bound: its variable, what holds where that is not set, and what it bounds. */
export const limitHelp: string = limitNames
  .map((name) => {
    const { meaning, usual } = limits[name]
    return `    ${limitVariables[name].name} (default ${shown(usual)}): ${meaning}`
  })
  .join("\n")
