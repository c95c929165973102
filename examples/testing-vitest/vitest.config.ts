/**
 * This repository reads its packages from their sources; elsewhere no configuration is needed.
 */
import { defineConfig } from "vitest/config"

const conditions = ["@millrace/source", "module", "node", "development|production"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: { include: ["*.test.ts"] },
})
