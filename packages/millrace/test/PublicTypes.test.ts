/**
 * The public types of `millrace`, `millrace/client` and `millrace/testing` are those that were
 * accepted last.
 */
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { recordedAt, report } from "./ApiReport.ts"

it("changes no public type unseen", () => {
  // If the change is meant: `npm run api -- --write`, and a changeset.
  expect(report()).toBe(readFileSync(recordedAt, "utf8"))
})
