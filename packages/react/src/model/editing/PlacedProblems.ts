/**
 * Problems and warnings of a draft, each with the node and the input where it is mended.
 *
 * Guarantees: pure; every problem of the validation is there once, and so is what was typed and is
 * no value yet. Problems come before warnings. Leaves out: finding problems; the server does that.
 */
import type { WorkflowValidation } from "@millrace/api/PromiseClient"
import type { DocumentNode, WorkflowDocument } from "./Document.ts"
import { sourcePortOf } from "./Document.ts"
import { unfinishedOf } from "./internal/NodeInputs.ts"

type Reported = WorkflowValidation["problems"][number]

/** Where something is mended. Without a node it is the workflow as a whole. */
export interface FieldPlace {
  readonly nodeId?: string
  /** An input: `inputs/url`; or a key of the node's data: `retry`. Absent: the node as a whole. */
  readonly place?: string
}

/** A problem, or a warning, which a start accepts. */
export interface PlacedProblem extends FieldPlace {
  /** One sentence. */
  readonly message: string
  readonly isWarning: boolean
  /** What is typed there is no value yet. */
  readonly isUnfinished?: true
  readonly edgeId?: string
}

/** Says that an input is unfinished. */
export type SayUnfinished = (node: DocumentNode, place: string) => string

const noValidation: Pick<WorkflowValidation, "problems" | "warnings"> = {
  problems: [],
  warnings: [],
}

/** An edge's problem belongs to the input at its end, or to the node whose output it lacks. */
const placeOf = ({ edgeId, nodeId, port }: Reported, { edges }: WorkflowDocument): FieldPlace => {
  const edge = edgeId === undefined ? undefined : edges.find(({ id }) => id === edgeId)
  const at = nodeId ?? edge?.target
  if (at === undefined) return {}
  const isOutput = edge?.source === at && (port === undefined || port === sourcePortOf(edge))
  return port === undefined || isOutput ? { nodeId: at } : { nodeId: at, place: `inputs/${port}` }
}

/** All problems and warnings of a draft. What is gone from it since it was judged is left out. */
export const placedProblems = (
  document: WorkflowDocument,
  validation: Pick<WorkflowValidation, "problems" | "warnings"> | undefined,
  say: SayUnfinished,
): ReadonlyArray<PlacedProblem> => {
  const ids = new Set(document.nodes.map(({ id }) => id))
  const { problems, warnings } = validation ?? noValidation
  const placed = (isWarning: boolean) => (reported: Reported) => {
    const at = placeOf(reported, document)
    if (at.nodeId !== undefined && !ids.has(at.nodeId)) return []
    const { edgeId, message } = reported
    return { ...at, message, isWarning, ...(edgeId === undefined ? {} : { edgeId }) }
  }
  const unfinished = document.nodes.flatMap((node) =>
    Array.from(unfinishedOf(node).keys(), (place) => ({
      nodeId: node.id,
      place,
      message: say(node, place),
      isWarning: false,
      isUnfinished: true as const,
    })),
  )
  return [...unfinished, ...problems.flatMap(placed(false)), ...warnings.flatMap(placed(true))]
}

/** The same by node. */
export const problemsByNode = (
  problems: ReadonlyArray<PlacedProblem>,
): ReadonlyMap<string, ReadonlyArray<PlacedProblem>> =>
  Map.groupBy(
    problems.filter(({ nodeId }) => nodeId !== undefined),
    ({ nodeId }) => nodeId!,
  )
