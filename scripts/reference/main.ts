/**
 * `npm run docs:reference` says whether the generated pages of reference are what the code has;
 * `-- --write` writes them.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { referencePages, root } from "../../packages/server/test/reference/Reference.ts"

for (const { path, text } of await referencePages()) {
  const file = join(root, path)
  if (process.argv.includes("--write")) writeFileSync(file, text)
  else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    console.error(`${path} is not what the code has: npm run docs:reference -- --write`)
    process.exitCode = 1
  }
}
