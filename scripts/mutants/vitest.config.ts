// The tests of one part, for the mutation tester: as in the repository's own configuration, but
// with shorter limits, because a mutant often makes a test wait for ever.
import path from "node:path"
import { defineConfig } from "vitest/config"
import { namedTests, parts } from "./Parts.ts"

const conditions = ["@millrace/source", "module", "node", "development|production"]
const part = parts[process.env["MUTANTS_PART"] ?? ""]
if (part === undefined) throw new Error("Set MUTANTS_PART to a name of Parts.ts.")

const chosen = (process.env["MUTANTS_TESTS"] ?? "").split(",").filter((name) => name !== "")

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    root: path.join(import.meta.dirname, "../../packages"),
    include:
      chosen.length === 0
        ? part.tests.map((pattern) => `${part.package}/${pattern}`)
        : chosen.map((name) => namedTests(part, name)),
    // Files share what they import: a third of the time.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
