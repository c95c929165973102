// The long suites: more of what the packages' own tests do, too slow for every save of a file. Like
// those they read sources, so that no build is needed.
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const compiled = new URL("../node_modules/.cache/compiled/", import.meta.url)
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(compiled)

const conditions = ["@millrace/source", "module", "node", "development|production"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    name: "suites",
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    // Against what hangs, not against what is slow.
    testTimeout: 300_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
