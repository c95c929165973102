/**
 * PGlite against the suite of every store.
 */
import { conformance, deliveryConformance } from "@millrace/conformance"
import { Pglite, Stores } from "@millrace/postgres"
import { Layer } from "effect"

conformance("PGlite in memory", Stores.layer.pipe(Layer.provide(Pglite.layerMemory)))

deliveryConformance("PGlite in memory", Stores.layer.pipe(Layer.provide(Pglite.layerMemory)))
