/**
 * The stores in SQLite against the suites of every store: in a file, and in memory.
 */
import { conformance, deliveryConformance } from "@millrace/conformance"
import { Stores } from "@millrace/sqlite"
import { Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"

const root = mkdtempSync(join(tmpdir(), "millrace-sqlite-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

conformance("SQLite in a file", Stores.layer(join(root, "all.db")), { manifest: Stores.manifest })

deliveryConformance("SQLite in a file", Stores.layer(join(root, "deliveries.db")))

conformance("SQLite in memory", Layer.fresh(Stores.layerMemory), {
  manifest: Stores.manifest,
  crowd: 500,
})

deliveryConformance("SQLite in memory", Layer.fresh(Stores.layerMemory))
