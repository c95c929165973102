// `millrace serve` with the node types of the workloads beside the built-in ones, told everything
// by variables.
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { builtin, layerServices } from "@millrace/nodes/Builtin"
import { resolveServe } from "@millrace/server/Config"
import { serve } from "@millrace/server/Serve"
import { Effect, Layer } from "effect"
import { launch } from "../../packages/server/src/internal/command/Launch.ts"
import { gather, step } from "../Workloads.ts"

const nodeTypes = Layer.provide(NodeTypes.layer(...builtin, step, gather), layerServices)

launch(
  Effect.flatMap(resolveServe({}), (settings) => serve(settings, { logLevel: "Info", nodeTypes })),
)
