/**
 * The catalogue of node types.
 */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { NodeTypeList } from "../NodeTypeWire.ts"

const list = HttpApiEndpoint.get("list", "/", { success: NodeTypeList }).annotateMerge(
  OpenApi.annotations({
    summary: "List node types",
    description: "Every type that this server can execute, with its ports and their JSON Schemas.",
  }),
)

/** `/node-types`. */
export class NodeTypesApi extends HttpApiGroup.make("nodeTypes")
  .add(list)
  .prefix("/node-types")
  .annotateMerge(OpenApi.annotations({ title: "Node types", description: "What nodes can be." })) {}
