/**
 * Credits: integer micro-credits inside, a plain JSON number of credits outside.
 *
 * Guarantees: `toNumber` and `fromNumber` are inverse for every amount with at most six decimals.
 * Nothing else becomes an amount. Leaves out: who may spend credits.
 */
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import { mostCredits } from "./Limits.ts"

/** Millionths of a credit, a safe integer. */
export type MicroCredits = number

/** How many {@link MicroCredits} make one credit. */
export const microPerCredit = 1_000_000

/** Credits as a JSON number, for the wire. */
export const toNumber = (micro: MicroCredits): number => micro / microPerCredit

/**
 * Micro-credits of an amount, or `NaN` for what is none: not finite, beyond {@link mostCredits} in
 * either direction, or finer than six decimals. A difference as small as the arithmetic of doubles
 * makes by itself (0.1 + 0.2) is none.
 */
export const fromNumber = (credits: number): MicroCredits => {
  const exact = credits * microPerCredit
  const micro = Math.round(exact)
  const noise = 1e-6 + Math.abs(micro) * 2 ** -48
  const isAmount = Math.abs(credits) <= mostCredits && Math.abs(exact - micro) <= noise
  return isAmount ? micro + 0 : Number.NaN
}

/** True for an amount that may be estimated, charged or granted: a whole number up to the bound. */
export const isAmount = (micro: MicroCredits): boolean =>
  Number.isSafeInteger(micro) && micro >= 0 && micro <= mostCredits * microPerCredit

const micro = {
  decode: SchemaGetter.transform(fromNumber),
  encode: SchemaGetter.transform(toNumber),
}

/** The codec between micro-credits inside and a number of credits on the wire. */
export const MicroCredits: Schema.Codec<number, number> = Schema.Finite.pipe(
  Schema.decodeTo(Schema.Int, micro),
)

/** The same for an amount from a client: from 0 up, else refused with a sentence. */
export const Amount: Schema.Codec<number, number> = Schema.Finite.check(
  Schema.makeFilter(
    (credits) =>
      (credits >= 0 && isAmount(fromNumber(credits))) ||
      `expected a number of credits from 0 to ${mostCredits}, of at most six decimals`,
  ),
).pipe(Schema.decodeTo(Schema.Int, micro))

/** The same for an amount that may be negative. */
export const SignedAmount: Schema.Codec<number, number> = Schema.Finite.check(
  Schema.makeFilter(
    (credits) =>
      isAmount(Math.abs(fromNumber(credits))) ||
      `expected a number of credits up to ${mostCredits} either way, of at most six decimals`,
  ),
).pipe(Schema.decodeTo(Schema.Int, micro))
