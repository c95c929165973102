/**
 * All built-in node types.
 *
 * Leaves out: an embedder's own types; register both with `NodeTypes.layer(...builtin, ...own)` and
 * provide `layerServices`.
 */
import { builtinOrigin } from "@millrace/core/domain/NodeType"
import { NodeTypes, withOrigin } from "@millrace/core/engine/NodeTypes"
import type { Egress } from "@millrace/egress/Egress"
import { Layer } from "effect"
import { approval } from "./internal/ApprovalNode.ts"
import { code } from "./internal/Code.ts"
import { condition } from "./internal/Condition.ts"
import { constant } from "./Constant.ts"
import { delay } from "./Delay.ts"
import { email } from "./internal/Email.ts"
import { fail } from "./internal/Fail.ts"
import { forEach } from "./internal/ForEach.ts"
import { whileLoop } from "./internal/While.ts"
import { httpRequest } from "./internal/HttpRequest.ts"
import { list } from "./internal/List.ts"
import { llm } from "./internal/Llm.ts"
import { merge } from "./internal/Merge.ts"
import { note } from "./internal/Note.ts"
import { parse } from "./internal/Parse.ts"
import { postgresQuery } from "./internal/PostgresQuery.ts"
import { request } from "./internal/Request.ts"
import { response } from "./internal/Response.ts"
import { subWorkflow } from "./internal/SubWorkflow.ts"
import { switchNode } from "./internal/Switch.ts"
import { transform } from "./internal/Transform.ts"
import { waitSignal } from "./internal/WaitSignal.ts"
import { ComputePermit } from "./internal/ComputePermit.ts"

/** Every built-in node type, in the order in which a palette shows them. */
export const builtin = (
  [
    request,
    response,
    condition,
    switchNode,
    merge,
    delay,
    waitSignal,
    approval,
    subWorkflow,
    forEach,
    whileLoop,
    fail,
    constant,
    transform,
    list,
    code,
    parse,
    httpRequest,
    email,
    postgresQuery,
    llm,
    note,
  ] as const
).map(withOrigin(builtinOrigin))

/** What the built-in node types need besides `Egress`. */
export const layerServices: Layer.Layer<ComputePermit> = ComputePermit.layer

/** Registers the built-in node types and no others. */
export const layer: Layer.Layer<NodeTypes, never, Egress> = Layer.provide(
  NodeTypes.layer(...builtin),
  layerServices,
)
