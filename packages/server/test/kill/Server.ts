/**
 * `millrace serve` with a few more node types: the same wiring, told everything by variables.
 */
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { builtin } from "@millrace/nodes/Builtin"
import { Effect } from "effect"
import { resolveServe } from "../../src/Config.ts"
import { launch } from "../../src/Launch.ts"
import { serve } from "../../src/Serve.ts"
import { trials } from "./Trial.ts"
import { work } from "./Work.ts"

const journal = process.env["KILL_JOURNAL"] ?? ""
const nodeTypes = NodeTypes.layer(...builtin, work(journal), ...trials(journal))

launch(
  Effect.flatMap(resolveServe({}), (settings) => serve(settings, { logLevel: "Info", nodeTypes })),
)
