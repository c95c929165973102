// The tables of a contest: medians of the rounds that count.
import type { Workload } from "./Contestant.ts"
import type { Figure } from "./ContestantProcess.ts"
import type { Result } from "./Contest.ts"
import { keyOf } from "./Contest.ts"

/** The middle one of all figures, number by number; none if nothing counts. */
export const medianOf = (result: Result, name: string, workload: Workload): Figure | undefined => {
  const figures = result.figures.get(keyOf(name, workload)) ?? []
  if (figures.length === 0) return undefined
  const of = (key: keyof Figure) =>
    figures.map((each) => each[key] ?? 0).toSorted((left, right) => left - right)[
      Math.floor(figures.length / 2)
    ] ?? 0
  return {
    steps: of("steps"),
    value: of("value"),
    accepted: of("accepted"),
    p99: of("p99"),
    engineCpu: of("engineCpu"),
    storeCpu: of("storeCpu"),
  }
}

const digits = (value: number | undefined, count: number): number | string =>
  value === undefined ? "" : Number(value.toFixed(count))

/** Each contestant in a line. CPU seconds are for 1,000 steps of W1: engine, and store. */
export const printContest = (result: Result, names: ReadonlyArray<string>): void => {
  console.log(`on ${result.version}`)
  const rows = names
    .filter((name) => !result.leftOut.has(name))
    .map((name) => {
      const [w1, w2, w3, w4] = (["W1", "W2", "W3", "W4"] as const).map((workload) =>
        medianOf(result, name, workload),
      )
      return {
        contestant: name,
        "W1 steps/s": digits(w1?.value, 0),
        "CPU, engine": digits(w1?.engineCpu, 3),
        "CPU, store": digits(w1?.storeCpu, 3),
        "W2 steps/s": digits(w2?.value, 0),
        "W3 p50 ms": digits(w3?.value, 2),
        "W4 accepted/s": digits(w4?.accepted === 0 ? undefined : w4?.accepted, 0),
        "W4 finished/s": digits(w4?.value, 0),
      }
    })
  console.table(rows)
  for (const [name, why] of result.leftOut) console.log(`left out: ${name}: ${why.split("\n")[0]}`)
  console.log(`figures thrown away because others used the processors: ${result.spoiled}`)
}

/** One figure by another: `undefined` if one of them is missing. */
export const ratio = (
  result: Result,
  workload: Workload,
  [ours, theirs]: readonly [string, string],
  of: "value" | "accepted" | "engineCpu" = "value",
): number | undefined => {
  const one = medianOf(result, ours, workload)?.[of]
  const other = medianOf(result, theirs, workload)?.[of]
  return one === undefined || other === undefined || other === 0 ? undefined : one / other
}

/** Prints ratios, those that could be measured. */
export const printRatios = (ratios: { readonly [what: string]: number | undefined }): void => {
  console.table(Object.entries(ratios).map(([what, value]) => ({ what, ratio: digits(value, 2) })))
}
