/**
 * Adding numbers that people wrote in decimal: 0.1 + 0.2 is 0.3.
 *
 * Guarantees: numbers of at most six decimals add up exactly, in any order, as long as the amounts
 * stay below nine billion; beyond that the result is as close as compensated addition gets.
 */

const scale = 1_000_000

/** Millionths, if that is exactly what the number is. */
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

/** Neumaier's sum: what each addition rounds away is kept and added at the end. */
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

/** The sum of finite numbers; infinite when it is beyond what a number can hold. */
export const sumOf = (values: ReadonlyArray<number>): number =>
  exactly(values) ?? compensated(values)
