/**
 * `millrace serve` with a few more node types, and deliveries in a hurry where that is wanted: the
 * same wiring, told everything by variables.
 */
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { builtin, layerServices } from "@millrace/nodes/Builtin"
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { Effect, Layer } from "effect"
import { resolveServe } from "../../src/Config.ts"
import { launch } from "../../src/internal/command/Launch.ts"
import { serve } from "../../src/Serve.ts"
import { compute } from "./Compute.ts"
import { poison } from "./Poison.ts"
import { trials } from "./Trial.ts"
import { work } from "./Work.ts"

/** How deliveries are made: as data, so that three days fit into seconds. */
const deliveries = JSON.parse(process.env["KILL_DELIVERIES"] ?? "{}") as Partial<DispatcherOptions>

const journal = process.env["KILL_JOURNAL"] ?? ""
const own = [work(journal), compute(journal), poison(journal), ...trials(journal)] as const
const nodeTypes = Layer.provide(NodeTypes.layer(...builtin, ...own), layerServices)

launch(
  Effect.flatMap(resolveServe({}), (settings) =>
    serve(settings, { logLevel: "Info", nodeTypes, deliveries }),
  ),
)
