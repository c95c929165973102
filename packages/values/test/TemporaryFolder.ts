/**
 * An empty folder for a test, which is removed when the scope closes.
 */
import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "millrace-values-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)
