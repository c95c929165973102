/**
 * A program whose node type is in the module that starts the engine, as it must not be.
 */
import { createEngine, defineNode } from "millrace"

export const misplaced = defineNode({
  type: "misplaced",
  blocking: import.meta.url,
  inputs: {},
  outputs: {},
  run: () => {},
})

await using _ = await createEngine({ nodes: [misplaced] })
