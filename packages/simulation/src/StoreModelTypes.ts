/**
 * What the list of node types in use means, in the plainest way that is right: part of the model
 * of the stores.
 */
import { typeUsersListed } from "@millrace/core/domain/Limits"
import type { Definition } from "@millrace/core/domain/Run"
import type { OldestVersions, TypeUse, TypeUser } from "@millrace/core/domain/TypeUse"
import type { Node, Workflow } from "@millrace/core/domain/Workflow"
import type { WorkflowVersion } from "@millrace/core/domain/WorkflowVersion"
import type { WorkflowModel } from "./StoreModelWorkflows.ts"

/** What can have nodes of a type. */
type Kind = "drafts" | "published" | "openRuns"

interface Graph {
  readonly kind: Kind
  readonly nodes: ReadonlyArray<Node>
  /** The workflow that is named as a user; none for a run. */
  readonly user: TypeUser | null
}

const ofWorkflow = (workflow: Workflow, versions: ReadonlyArray<WorkflowVersion>) => {
  const { accountId, id: workflowId, name: workflowName } = workflow
  const user = { accountId, workflowId, workflowName }
  const own = versions.filter((version) => version.workflowId === workflowId)
  const published = own.map(({ nodes }): Graph => ({ kind: "published", nodes, user }))
  return [{ kind: "drafts", nodes: workflow.nodes, user } as const, ...published]
}

const ofRun = ({ nodes, settings }: Definition): Graph => {
  const called = Object.values(settings.workflows ?? {}).flatMap((each) => each.nodes)
  return { kind: "openRuns", nodes: [...nodes, ...called], user: null }
}

/** The version that a node names, else the oldest known one of its type. */
const versionOf = ({ data, type }: Node, oldest: OldestVersions): number | null => {
  const version = (data as { readonly version?: unknown } | null | undefined)?.version
  return typeof version === "number" ? version : (oldest[type] ?? null)
}

const orderOf = ({ accountId, workflowId }: TypeUser): string => `${accountId} ${workflowId}`

/** Where nodes of each version of each type are: in workflows, and in graphs of open runs. */
export const typesInUse = (
  held: Pick<WorkflowModel, "versions" | "workflows">,
  open: ReadonlyArray<Definition>,
  oldest: OldestVersions,
): ReadonlyArray<TypeUse> => {
  const drawn = held.workflows().flatMap((each) => ofWorkflow(each, held.versions()))
  const graphs = [...drawn, ...open.map(ofRun)]
  const keyOf = (node: Node): string => JSON.stringify([node.type, versionOf(node, oldest)])
  const keys = new Set(graphs.flatMap(({ nodes }) => nodes.map(keyOf)))
  return [...keys].map((key) => {
    const [type, version] = JSON.parse(key) as [string, number | null]
    const having = graphs.filter(({ nodes }) => nodes.some((node) => keyOf(node) === key))
    const count = (kind: Kind): number => having.filter((graph) => graph.kind === kind).length
    const users = new Map(
      having.flatMap(({ user }) => (user === null ? [] : [[orderOf(user), user]])),
    )
    const workflows = [...users.keys()].toSorted().map((each) => users.get(each)!)
    return {
      type,
      version,
      drafts: count("drafts"),
      published: count("published"),
      openRuns: count("openRuns"),
      workflows: workflows.slice(0, typeUsersListed),
    }
  })
}
