/**
 * What the mutation tester found out, as text: a score for each file and for all of them together,
 * and every fault that no test noticed.
 */
import fs from "node:fs"

/** A fault, as the report of the mutation tester has it. Lines and columns begin at 1. */
export interface Mutant {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: string
  readonly location: {
    readonly start: { readonly line: number; readonly column: number }
    readonly end: { readonly line: number; readonly column: number }
  }
}

interface Found {
  readonly source: string
  readonly mutants: ReadonlyArray<Mutant>
}

const noticed = new Set(["Killed", "Timeout"])

/** True for a fault that no test noticed. */
export const isMissed = (status: string): boolean =>
  status === "Survived" || status === "NoCoverage"

const scoreOf = (mutants: ReadonlyArray<Mutant>): string => {
  const good = mutants.filter(({ status }) => noticed.has(status)).length
  const bad = mutants.filter(({ status }) => isMissed(status)).length
  const percent = good + bad === 0 ? 100 : (100 * good) / (good + bad)
  return `${percent.toFixed(1).padStart(5)} %  ${good} noticed, ${bad} not`
}

/** A text in one short line. */
export const brief = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > 90 ? `${line.slice(0, 87)}...` : line
}

const originalOf = ({ source }: Found, { location: { start, end } }: Mutant): string => {
  const lines = source.split("\n").slice(start.line - 1, end.line)
  lines.push((lines.pop() ?? "").slice(0, end.column - 1))
  return lines.join("\n").slice(start.column - 1)
}

/** Prints the report about some files; a file that was not tried is not in it. */
export const printReport = (report: string, files: ReadonlyArray<string>): void => {
  if (!fs.existsSync(report)) return
  const read = JSON.parse(fs.readFileSync(report, "utf8")) as {
    readonly files: Readonly<Record<string, Found>>
  }
  const tried = files.flatMap((file) => {
    const found = read.files[file]
    return found === undefined ? [] : [{ file, found }]
  })
  for (const { file, found } of tried) {
    for (const mutant of found.mutants) {
      if (!isMissed(mutant.status)) continue
      const { line, column } = mutant.location.start
      console.log(`${file}:${line}:${column} ${mutant.status} ${mutant.mutatorName}`)
      console.log(`  - ${brief(originalOf(found, mutant))}`)
      console.log(`  + ${brief(mutant.replacement ?? "")}`)
    }
  }
  for (const { file, found } of tried) console.log(`${scoreOf(found.mutants)}  ${file}`)
  console.log(`${scoreOf(tried.flatMap(({ found }) => found.mutants))}  together`)
}
