/**
 * Emphasis for a terminal: where there is none, or colours are not wanted, text stays as it is.
 *
 * Leaves out: deciding whether colours are wanted; the command line's own detection says that, from
 * the terminal, `NO_COLOR` and `FORCE_COLOR`.
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

/** What suits where standard output goes. */
export const current: Effect.Effect<Colors> = Effect.map(TerminalCapabilities, ({ canColor }) =>
  canColor ? coloured : plain,
)
