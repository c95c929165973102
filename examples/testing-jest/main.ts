/**
 * Runs the tests of this folder, as `NODE_OPTIONS=--experimental-vm-modules npx jest` does: the
 * flag lets jest load ES modules.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

interface Report {
  readonly testResults: ReadonlyArray<{
    readonly message: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly title: string }>
  }>
}

const jest = fileURLToPath(import.meta.resolve("jest/bin/jest"))
const flags = ["--experimental-vm-modules", "--no-warnings"]
const { stdout } = spawnSync(process.execPath, [...flags, jest, "--json", "--silent"], {
  cwd: import.meta.dirname,
  encoding: "utf8",
})
for (const { assertionResults, message } of (JSON.parse(stdout) as Report).testResults) {
  for (const { status, title } of assertionResults) console.log(`${status}: ${title}`)
  if (message !== "") console.error(message)
}
