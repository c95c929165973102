/**
 * The catalogue of node types.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import { described, titled } from "./Words.ts"
import { NodeTypeList } from "../NodeTypeWire.ts"

const list = described(
  "List node types",
  "Every type that this server can execute, with its ports and their JSON Schemas.",
  HttpApiEndpoint.get("list", "/", { success: NodeTypeList }),
)

export class NodeTypesApi extends HttpApiGroup.make("nodeTypes")
  .add(list)
  .prefix("/node-types")
  .annotateMerge(titled("Node types", "The types of nodes that the server can execute.")) {}
