/**
 * `millrace serve` with one more node type: the same wiring, told everything by variables.
 */
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { builtin } from "@millrace/nodes/Builtin"
import { Effect } from "effect"
import { resolveServe } from "../../src/Config.ts"
import { launch } from "../../src/Launch.ts"
import { serve } from "../../src/Serve.ts"
import { work } from "./Work.ts"

const nodeTypes = NodeTypes.layer(...builtin, work(process.env["KILL_JOURNAL"] ?? ""))

launch(
  Effect.flatMap(resolveServe({}), (settings) => serve(settings, { logLevel: "Info", nodeTypes })),
)
