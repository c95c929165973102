// The tables of a contest, of medians of the rounds that count: on the console with figures, and in
// `docs/explanation/performance.md` with ratios alone.
import { readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import type { Workload } from "./Contestant.ts"
import type { Figure } from "./ContestantProcess.ts"
import type { Result, Rules } from "./Contest.ts"
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
  value === undefined || value === 0 ? "" : Number(value.toFixed(count))

/** What is said of a contestant in a line: the column, its digits, and where it is found. */
const columns: ReadonlyArray<{
  readonly title: string
  readonly workload: Workload
  readonly digits: number
  readonly of: (figure: Figure) => number | undefined
}> = [
  { title: "W1 steps/s", workload: "W1", digits: 0, of: ({ value }) => value },
  { title: "W2 steps/s", workload: "W2", digits: 0, of: ({ value }) => value },
  { title: "W3 p50 ms", workload: "W3", digits: 2, of: ({ value }) => value },
  { title: "W4 accepted/s", workload: "W4", digits: 0, of: ({ accepted }) => accepted },
  { title: "W4 finished/s", workload: "W4", digits: 0, of: ({ value }) => value },
  { title: "W1 CPU, engine", workload: "W1", digits: 3, of: ({ engineCpu }) => engineCpu },
  { title: "W1 CPU, store", workload: "W1", digits: 3, of: ({ storeCpu }) => storeCpu },
]

const measuredOf = (result: Result, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => columns.some(({ workload }) => result.figures.has(keyOf(name, workload))))

const valueOf = (result: Result, name: string, column: (typeof columns)[number]) => {
  const figure = medianOf(result, name, column.workload)
  return figure === undefined ? undefined : column.of(figure)
}

/** Each contestant in a line. CPU seconds are for 1,000 steps: engine, and store. */
export const printContest = (result: Result, names: ReadonlyArray<string>): void => {
  console.log(`on ${result.version}`)
  console.table(
    measuredOf(result, names).map((name) => ({
      contestant: name,
      ...Object.fromEntries(
        columns.map((column) => [
          column.title,
          digits(valueOf(result, name, column), column.digits),
        ]),
      ),
    })),
  )
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

/** Ratios by what they say; those that could not be measured have none. */
export type Ratios = { readonly [what: string]: number | undefined }

/** Prints ratios. */
export const printRatios = (ratios: Ratios): void => {
  console.table(Object.entries(ratios).map(([what, value]) => ({ what, ratio: digits(value, 2) })))
}

const line = (cells: ReadonlyArray<string | number>) => `| ${cells.join(" | ")} |`

const circumstances = (result: Result, { millis, others, rounds }: Rules): string => {
  const left = [...result.leftOut.keys()].join(", ")
  return [
    new Date().toISOString().slice(0, 10),
    `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"})`,
    `Node ${process.versions.node}`,
    result.version,
    `${rounds} rounds of ${millis / 1_000} s`,
    `${result.spoiled} figures thrown away at more than ${others} cores of others`,
    left === "" ? "nobody left out" : `left out: ${left}`,
  ].join("; ")
}

/**
 * A part of the page of figures: each contestant's figures by those of `base`, and ratios. It
 * replaces what stands between the marks of that name.
 */
export const writePage = (
  mark: string,
  result: Result,
  rules: Rules,
  { base, names, ratios }: { base: string; names: ReadonlyArray<string>; ratios: Ratios },
): void => {
  const page = new URL("../../docs/explanation/performance.md", import.meta.url)
  const rows = measuredOf(result, names).map((name) => [
    name,
    ...columns.map((column) => {
      const [one, other] = [valueOf(result, name, column), valueOf(result, base, column)]
      return digits(one === undefined || other === undefined ? undefined : one / other, 2)
    }),
  ])
  const titles = columns.map(({ title }) => title.replace(/ steps\/s| ms|\/s/, ""))
  const text = [
    `${circumstances(result, rules)}.`,
    "",
    line([`by ${base}`, ...titles]),
    line(["---", ...titles.map(() => "---")]),
    ...rows.map(line),
    "",
    line(["", "ratio"]),
    line(["---", "---"]),
    ...Object.entries(ratios).map(([what, value]) => line([what, digits(value, 2)])),
  ].join("\n")
  const between = new RegExp(`(<!-- ${mark} -->\n)[^]*?(<!-- /${mark} -->)`)
  const old = readFileSync(page, "utf8")
  writeFileSync(
    page,
    old.replace(between, (_, begin, end) => `${begin}${text}\n${end}`),
  )
}
