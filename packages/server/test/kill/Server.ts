/**
 * `millrace serve` with one more node type, and deliveries in a hurry where that is wanted: the
 * same wiring, told everything by variables.
 */
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { builtin } from "@millrace/nodes/Builtin"
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { Effect } from "effect"
import { resolveServe } from "../../src/Config.ts"
import { launch } from "../../src/Launch.ts"
import { serve } from "../../src/Serve.ts"
import { work } from "./Work.ts"

/** How deliveries are made: as data, so that three days fit into seconds. */
const deliveries = JSON.parse(process.env["KILL_DELIVERIES"] ?? "{}") as Partial<DispatcherOptions>

const nodeTypes = NodeTypes.layer(...builtin, work(process.env["KILL_JOURNAL"] ?? ""))

launch(
  Effect.flatMap(resolveServe({}), (settings) =>
    serve(settings, { logLevel: "Info", nodeTypes, deliveries }),
  ),
)
