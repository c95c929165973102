/**
 * A variable for every limit in `Limits`, by one rule: the variable of `runsAtOnce` is
 * `MILLRACE_LIMIT_RUNS_AT_ONCE`.
 *
 * Guarantees: a new limit gets its variable, its line of help and its check without a change here.
 * Leaves out: the limits themselves; they are in `@millrace/core/domain/Limits`.
 */
import type { Limit, Limits } from "@millrace/core/domain/Limits"
import { limitNames, limits } from "@millrace/core/domain/Limits"
import type { Read, Variable, Variables } from "./Variable.ts"

/** The prefix of all these variables. */
export const limitPrefix = "MILLRACE_LIMIT_"

/** The text that means no limit. */
const none = "none"

/** The largest number that every store can hold. */
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

/** The variable of a limit, from the limit's name in code. */
export const limitVariable = (name: string, { isOptional, least = 1 }: Limit): Variable<number> => {
  const expected = `a whole number from ${least}`
  return isOptional === true
    ? { name: nameOf(name), expected: `${expected}, or ${none}`, read: readOptional(least) }
    : { name: nameOf(name), expected, read: readFrom(least) }
}

/** The variables of all limits. */
export const limitVariables = Object.fromEntries(
  limitNames.map((name) => [name, limitVariable(name, limits[name])]),
) as Variables<Limits>

const shown = (value: number): string => (Number.isFinite(value) ? String(value) : none)

/** A line for each limit: its variable, its default, and its meaning. */
export const limitHelp: string = limitNames
  .map((name) => {
    const { meaning, usual } = limits[name]
    return `    ${limitVariables[name].name} (default ${shown(usual)}): ${meaning}`
  })
  .join("\n")
