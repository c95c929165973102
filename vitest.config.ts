// One configuration for every package's tests: sources are read through the `@millrace/source`
// condition, so no build is needed before a test run.
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import type { TestSpecification } from "vitest/node"
import { BaseSequencer } from "vitest/node"

// What processes that tests start have compiled: they begin in half the time.
const compiled = new URL("node_modules/.cache/compiled/", import.meta.url)
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(compiled)

const conditionsOf = (name: string) => [
  "@millrace/source",
  // The AWS SDK has files there that only bundlers can read.
  ...(["millrace", "values"].includes(name) ? [] : ["module"]),
  "node",
  "development|production",
]

/** Packages whose tests start servers, databases or browsers: each file has a worker of its own. */
const apart = ["dashboard", "postgres", "react", "server"]

/** What drives a browser takes longest; begun last, it would be waited for at the end. */
const inBrowser = /\/(?:react\/test\/browser\/Browser|dashboard\/test\/Dashboard)\.test\.ts$/

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await BaseSequencer.prototype.sort.call(this, files)
    const isLong = ({ moduleId }: TestSpecification) => inBrowser.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((each) => !isLong(each))]
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Two also on two cores: much of a test run waits for processes and disks.
    maxWorkers: 2,
    projects: readdirSync(new URL("packages/", import.meta.url)).map((name) => ({
      resolve: { conditions: conditionsOf(name) },
      ssr: {
        resolve: { conditions: conditionsOf(name), externalConditions: conditionsOf(name) },
      },
      test: {
        name,
        root: `packages/${name}`,
        include: ["test/**/*.test.ts"],
        // The files of the other packages share what they import, which is half of their time.
        isolate: apart.includes(name),
        // Against what hangs, not against what is slow.
        testTimeout: 120_000,
        hookTimeout: 120_000,
        expect: { poll: { timeout: 60_000 } },
      },
    })),
  },
})
