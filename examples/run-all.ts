/**
 * Runs every example the way its reader would, and compares what it prints with its `expected.txt`.
 *
 * Prints one line per example and `N passed, N failed` at the end; exits with 1 when one failed or
 * there is none.
 */
import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = import.meta.dirname
const limitMillis = 120_000

interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const run = (folder: string): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--conditions=@millrace/source", "main.ts"], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: limitMillis,
      killSignal: "SIGKILL",
    })
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, stdout, stderr }))
  })

/** What an engine says of a machine that gives its process no time. */
const busyMachine = /^.*The event loop was blocked for .*\n/gm

/** Why an example failed, or `undefined` when it did not. */
const problemOf = ({ code, stderr, stdout }: Outcome, expected: string): string | undefined => {
  if (code === null) return `it did not end within ${limitMillis / 1_000} s`
  if (code !== 0) return `it ended with code ${code}\n${stderr}`
  if (stderr.replaceAll(busyMachine, "") !== "") return `it wrote to stderr\n${stderr}`
  return stdout === expected ? undefined : `expected\n${expected}but it printed\n${stdout}`
}

const names = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(root, entry.name, "main.ts")))
  .map((entry) => entry.name)

let passed = 0
for (const name of names) {
  const folder = join(root, name)
  const problem = problemOf(await run(folder), readFileSync(join(folder, "expected.txt"), "utf8"))
  if (problem === undefined) passed += 1
  console.log(problem === undefined ? `passed ${name}` : `FAILED ${name}: ${problem}`)
}
console.log(`${passed} passed, ${names.length - passed} failed`)
process.exitCode = passed > 0 && passed === names.length ? 0 : 1
