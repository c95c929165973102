// The long suites: more of what the packages' own tests do, too slow for every save of a file. Like
// those they read sources, so that no build is needed.
import { defineConfig } from "vitest/config"

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
  },
})
