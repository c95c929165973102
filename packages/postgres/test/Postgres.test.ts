/**
 * A real Postgres against the suite of every store.
 */
import { conformance, deliveryConformance } from "@millrace/conformance"
import * as TestPostgres from "./TestPostgres.ts"

conformance("Postgres", TestPostgres.layerStores)

deliveryConformance("Postgres", TestPostgres.layerStores)
