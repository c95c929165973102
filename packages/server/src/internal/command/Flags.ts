/**
 * Flags that several commands have in common, and flags made from settings.
 *
 * Leaves out: how flags and variables combine; `Config` decides that.
 */
import { Timestamp } from "@millrace/core/domain/Timestamp"
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { databaseDefaults } from "../../Config.ts"
import type { FlagWords, Read, Variable, Variables } from "../config/Variable.ts"
import { databaseVariables, folderVariables, remoteVariables } from "../config/Variables.ts"

/** A flag, or an argument, that may be left out. */
export const optional = <A>(flag: Flag.Flag<A>): Flag.Flag<A | undefined> =>
  Flag.map(Flag.optional(flag), Option.getOrUndefined)
export const optionalArgument = <A>(
  argument: Argument.Argument<A>,
): Argument.Argument<A | undefined> =>
  Argument.map(Argument.optional(argument), Option.getOrUndefined)

/** A flag whose text is taken as it is. */
export const text = (name: string, metavar: string, description: string): Flag.Flag<string> =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description))

/** A flag whose text is read as something, or refused. */
export const read = <A>(name: string, metavar: string, description: string, as: Read<A>) =>
  optional(
    Flag.filterMap(
      text(name, metavar, description),
      (typed) => Option.fromUndefinedOr(as(typed)),
      () => `Expected a ${metavar}`,
    ),
  )

/** A whole number of any size. Its receiver checks its range. */
export const count = (name: string, description: string) =>
  read(name, "number", description, (typed) => (/^\d+$/.test(typed) ? Number(typed) : undefined))

const readTime = Schema.decodeUnknownOption(Timestamp)

/** A time; or a day, which means its midnight in UTC. */
export const time = (name: string, description: string) =>
  read(name, "time", description, (typed) => Option.getOrUndefined(readTime(typed)))

/** A flag without a value. */
export const isTyped = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(
    Flag.withoutNegation,
    Flag.withDefault(false),
    Flag.withDescription(description),
  )

/** The flags that were typed, without the absent ones. */
export const given = <A extends object>(typed: A) =>
  Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof A as undefined extends A[K] ? never : K]: A[K]
  } & { readonly [K in keyof A as undefined extends A[K] ? K : never]?: Exclude<A[K], undefined> }

const shown = (value: unknown, metavar: string): string =>
  metavar === "duration" ? `${Number(value) / 1_000}s` : String(value)

const joined = (flag: Flag.Flag<string>): Flag.Flag<string> =>
  Flag.map(Flag.atLeast(flag, 1), (texts) => texts.join(","))

/** The flag of a variable. The flag's text is read and refused like the variable's. */
const ofVariable = <A>(
  { expected, name: variable, read: readText }: Variable<A>,
  { description, isRepeated, means, metavar = "", name, read: readTyped = readText }: FlagWords<A>,
  fallback: A | undefined,
): Flag.Flag<A | undefined> => {
  if (means !== undefined) {
    return Flag.Boolean(name).pipe(
      Flag.withoutNegation,
      Flag.optional,
      Flag.map((typed) => (Option.contains(typed, true) ? means : undefined)),
      Flag.withDescription(`${description} (${variable}=${String(means)})`),
    )
  }
  const isShown = fallback !== undefined && fallback !== null && isRepeated !== true
  const usual = isShown ? `, default ${shown(fallback, metavar)}` : ""
  const flag = text(name, metavar, `${description} (${variable}${usual})`)
  return (isRepeated === true ? joined(flag) : flag).pipe(
    Flag.filterMap(
      (typed) => Option.fromUndefinedOr(readTyped(typed)),
      () => `Expected ${expected}`,
    ),
    optional,
  )
}

/** The flags of these settings, by the settings' names in code. */
export const ofVariables = <S extends object>(
  variables: Variables<S>,
  fallbacks: Partial<S> = {},
): { readonly [K in keyof S]: Flag.Flag<S[K] | undefined> } => {
  const flags = Object.entries(variables as Variables<Record<string, unknown>>).flatMap(
    ([key, variable]) =>
      variable.flag === undefined
        ? []
        : [[key, ofVariable(variable, variable.flag, fallbacks[key as keyof S])]],
  )
  return Object.fromEntries(flags) as { readonly [K in keyof S]: Flag.Flag<S[K] | undefined> }
}

/** The flags that say where the accounts are, and whether JSON is printed. */
export const target = {
  ...ofVariables(remoteVariables),
  ...ofVariables(folderVariables),
  ...ofVariables(databaseVariables, databaseDefaults),
  json: isTyped("json", "Print JSON, in the form of the HTTP interface for operators"),
}
