/**
 * `npm run api` says whether the public types are those that were accepted; `-- --write` accepts
 * them as they are.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { recordedAt, report } from "../../packages/millrace/test/ApiReport.ts"

const now = report()
if (process.argv.includes("--write")) {
  mkdirSync(dirname(recordedAt), { recursive: true })
  writeFileSync(recordedAt, now)
} else if (now !== readFileSync(recordedAt, "utf8")) {
  console.error("Public types have changed. See what: npm run api -- --write && git diff api")
  process.exitCode = 1
}
