// This version beside an earlier one: has a change made anything slower?
//
// The earlier one is checked out and installed into a folder of its own, and its own contestants
// take part. So it is measured as it was, with its own dependencies.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { Workload } from "./contest/Contestant.ts"
import type { Entry } from "./contest/ContestantProcess.ts"
import type { Result, Rules } from "./contest/Contest.ts"
import { hold, takesPart } from "./contest/Contest.ts"
import type { Ratios } from "./contest/Tables.ts"
import { printContest, printRatios, ratio } from "./contest/Tables.ts"

const repository = fileURLToPath(new URL("..", import.meta.url))

const all: ReadonlyArray<Workload> = ["W1", "W2", "W3", "W4"]

const entries: ReadonlyArray<Entry> = [
  { name: "core", file: "Core.ts", workloads: all },
  { name: "createEngine", file: "Ours.ts", workloads: [...all, "pure"] },
  { name: "serve, over HTTP", file: "Served.ts", workloads: ["W4"] },
]

const before = (name: string): string => `${name}, before`

/** The full name of a commit of this repository. */
const nameOf = (commit: string): string => {
  const asked = ["rev-parse", "--verify", "--quiet", `${commit}^{commit}`]
  const { status, stdout } = spawnSync("git", asked, { cwd: repository, encoding: "utf8" })
  if (status !== 0) throw new Error(`--commit: this repository has no commit "${commit}"`)
  return stdout.trim()
}

/** Installs the files of a commit. */
const checkOut = (commit: string, folder: string): void => {
  const run = (command: string, ...args: ReadonlyArray<string>) =>
    execFileSync(command, args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
  process.stderr.write(`installing ${commit.slice(0, 12)}\n`)
  run("git", "clone", "--quiet", "--no-checkout", repository, ".")
  run("git", "checkout", "--quiet", "--detach", commit)
  run("npm", "ci", "--silent")
}

/** What each figure is of what it was: speeds, and milliseconds on W3; then CPU time for a step. */
const ratiosOf = (result: Result, chosen: ReadonlyArray<Entry>): Ratios => {
  const pairs = chosen.flatMap(({ name, workloads }) =>
    workloads.map((workload) => ({ name, workload })),
  )
  const of = (what: "value" | "engineCpu") =>
    pairs.map(({ name, workload }) => {
      const title = what === "value" ? `${workload}, ${name}` : `CPU, ${workload}, ${name}`
      return [title, ratio(result, workload, [name, before(name)], what)] as const
    })
  return Object.fromEntries([...of("value"), ...of("engineCpu")])
}

/** Runs both versions and prints tables. `only` names contestants. */
export const measure = async (commit: string, rules: Rules) => {
  const chosen = entries.filter((entry) => takesPart(rules, entry))
  const id = nameOf(commit)
  const folder = mkdtempSync(join(tmpdir(), "millrace-earlier-"))
  try {
    checkOut(id, folder)
    const theirs = chosen.map((entry) => ({
      ...entry,
      name: before(entry.name),
      file: pathToFileURL(join(folder, "bench", "contest", entry.file)).href,
    }))
    const result = await hold([...chosen, ...theirs], rules)
    printContest(
      result,
      chosen.flatMap(({ name }) => [name, before(name)]),
    )
    console.log(`now by ${commit}`)
    printRatios(ratiosOf(result, chosen))
    const { spoiled, version } = result
    return { commit, version, spoiled, figures: Object.fromEntries(result.figures) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
