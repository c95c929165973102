/**
 * Emphasis for a terminal. Without a terminal, or without colours, text stays as it is.
 *
 * Leaves out: whether colours are wanted. `effect/cli` finds that out from the terminal, `NO_COLOR`
 * and `FORCE_COLOR`.
 */
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as Effect from "effect/Effect"

/** Ways to set text apart. */
export interface Colors {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly red: (text: string) => string
}

const escape = (open: number, close: number) => (text: string) =>
  text === "" ? "" : `\u001b[${open}m${text}\u001b[${close}m`

const asIs = (text: string): string => text

/** Text without emphasis. */
export const plain: Colors = { bold: asIs, dim: asIs, green: asIs, yellow: asIs, red: asIs }

/** Emphasis by escape sequences. */
export const coloured: Colors = {
  bold: escape(1, 22),
  dim: escape(2, 22),
  green: escape(32, 39),
  yellow: escape(33, 39),
  red: escape(31, 39),
}

/** The emphasis that standard output can show. */
export const current: Effect.Effect<Colors> = Effect.map(TerminalCapabilities, ({ canColor }) =>
  canColor ? coloured : plain,
)
