/**
 * Deliveries on PGlite. The other suites of every store run on PGlite in a folder: see
 * DataFolder.test.ts.
 */
import { deliveryConformance } from "@millrace/conformance"
import { Pglite, Stores } from "@millrace/postgres"
import { Layer } from "effect"

deliveryConformance("PGlite in memory", Stores.layer.pipe(Layer.provide(Pglite.layerMemory)))
