/**
 * Adds decimal numbers: 0.1 + 0.2 is 0.3.
 *
 * Guarantees: the sum of numbers with at most six decimals is exact, in any order, as long as the
 * amounts are below nine billion. Other sums have the precision of compensated addition.
 */

const scale = 1_000_000

/** A number in millionths, if it is a whole number of them. */
const millionths = (value: number): number | undefined => {
  const scaled = Math.round(value * scale)
  return Number.isSafeInteger(scaled) && scaled / scale === value ? scaled : undefined
}

const exactly = (values: ReadonlyArray<number>): number | undefined => {
  let total = 0
  for (const value of values) {
    const part = millionths(value)
    if (part === undefined) return undefined
    total += part
    if (!Number.isSafeInteger(total)) return undefined
  }
  return total / scale
}

/** Neumaier's sum: collects the rounding errors and adds them at the end. */
const compensated = (values: ReadonlyArray<number>): number => {
  let total = 0
  let lost = 0
  for (const value of values) {
    const next = total + value
    lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total
    total = next
  }
  return Number.isFinite(total) ? total + lost : total
}

/** The sum of finite numbers; infinite if it is too large for a number. */
export const sumOf = (values: ReadonlyArray<number>): number =>
  exactly(values) ?? compensated(values)
