/**
 * A real Postgres against the suite of every store.
 */
import { conformance } from "@millrace/conformance"
import * as TestPostgres from "./TestPostgres.ts"

conformance("Postgres", TestPostgres.layerStores)
