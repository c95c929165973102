/**
 * The admin operation on node types.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import { described, titled } from "./Words.ts"
import { TypesInUse } from "../AdminNodeTypeWire.ts"

const list = described(
  "List node types in use",
  "Every version of a node type that the server has, or that is in use in any account: by " +
    "workflows as they are drawn, by their published versions, and by open runs. A version that " +
    "nothing uses can be taken away. Ended runs do not count; a rerun of one may need a version. " +
    "The store reads every drawing for this.",
  HttpApiEndpoint.get("list", "/node-types", { success: TypesInUse }),
)

/** `/node-types`. */
export class AdminNodeTypesApi extends HttpApiGroup.make("types")
  .add(list)
  .annotateMerge(titled("Node types", "Which versions of node types are in use.")) {}
