/**
 * What several tests of the front door need: running one node, and waiting for a signal.
 */
import type { NodeRun, NodeType, Run, StartRequest } from "millrace"
import { createEngine, MillraceError } from "millrace"

/** The error that a call is refused with. */
export const refusal = async (call: Promise<unknown>): Promise<MillraceError> => {
  const error: unknown = await call.then(
    () => new Error("The call was not refused"),
    (reason: unknown) => reason,
  )
  if (error instanceof MillraceError) return error
  throw error
}

/** Something that a test waits for and a handler gives. */
export const gate = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: () => resolve() }
}

/** Runs a workflow of one node in an engine of its own. */
export const runOne = async (
  type: NodeType,
  inputs: Record<string, unknown> = {},
  request: Partial<StartRequest> & { readonly mode?: string } = {},
): Promise<Run & { readonly node: NodeRun }> => {
  const { mode, ...rest } = request
  await using engine = await createEngine({ nodes: [type] })
  const { id } = await engine.workflows.create({
    name: "One node",
    nodes: [
      {
        id: "node",
        type: type.type,
        position: { x: 0, y: 0 },
        data: { inputs, ...(mode === undefined ? {} : { mode }) },
      },
    ],
  })
  const run = await engine.runs.start({ ...rest, workflowId: id })
  const result = await run.wait({ timeout: "10 seconds" })
  const { node } = result.nodes
  if (node === undefined) throw new Error("The run does not know its node")
  return { ...result, node }
}
