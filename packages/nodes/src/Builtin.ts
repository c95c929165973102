/**
 * The node types that come with the engine, all together.
 *
 * Leaves out: an embedder's own types; register both with `NodeTypes.layer(...builtin, ...own)`.
 */
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import type { Egress } from "@millrace/egress/Egress"
import type { Layer } from "effect"
import { condition } from "./Condition.ts"
import { constant } from "./Constant.ts"
import { delay } from "./Delay.ts"
import { fail } from "./Fail.ts"
import { httpRequest } from "./HttpRequest.ts"
import { list } from "./List.ts"
import { merge } from "./Merge.ts"
import { request } from "./Request.ts"
import { response } from "./Response.ts"
import { switchNode } from "./Switch.ts"
import { transform } from "./Transform.ts"

/** Every built-in node type, in the order a palette shows them. */
export const builtin = [
  request,
  response,
  condition,
  switchNode,
  merge,
  delay,
  fail,
  constant,
  transform,
  list,
  httpRequest,
] as const

/** Registers the built-in node types and no others. */
export const layer: Layer.Layer<NodeTypes, never, Egress> = NodeTypes.layer(...builtin)
