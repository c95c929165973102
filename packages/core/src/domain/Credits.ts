/**
 * Credits: integer micro-credits inside, a plain JSON number of credits outside.
 *
 * Guarantees: `toNumber` and `fromNumber` are inverse for every amount of at most six decimals.
 * Leaves out: who may spend them.
 */
import { Schema, SchemaGetter } from "effect"

/** Millionths of a credit, a safe integer. */
export type MicroCredits = number

/** How many {@link MicroCredits} make one credit. */
export const microPerCredit = 1_000_000

/** Credits as a JSON number, for the wire. */
export const toNumber = (micro: MicroCredits): number => micro / microPerCredit

/** Micro-credits of an amount; digits beyond the sixth decimal are rounded. */
export const fromNumber = (credits: number): MicroCredits => Math.round(credits * microPerCredit)

/** The codec between micro-credits inside and a number of credits on the wire. */
export const MicroCredits: Schema.Codec<number, number> = Schema.Finite.pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transform(fromNumber),
    encode: SchemaGetter.transform(toNumber),
  }),
)
