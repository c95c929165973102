/**
 * The in-memory stores against the suite of every store: all of them, and workflows and runs alone,
 * which is the least that a store may have.
 */
import { conformance, deliveryConformance } from "@millrace/conformance"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Stores } from "@millrace/memory"
import { Context, Effect, Layer } from "effect"

conformance("memory", Stores.layer, { manifest: Stores.manifest })

const least = Layer.effectContext(
  Effect.map(Layer.build(Stores.layer), Context.pick(RunStore, WorkflowStore)),
)

conformance("workflows and runs alone", least, { manifest: { name: "least", ports: [] } })

deliveryConformance("memory", Stores.layer)
