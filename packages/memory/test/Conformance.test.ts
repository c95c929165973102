/**
 * The in-memory stores against the suite of every store.
 */
import { conformance, deliveryConformance } from "@millrace/conformance"
import { Stores } from "@millrace/memory"

conformance("memory", Stores.layer)

deliveryConformance("memory", Stores.layer)
