/**
 * Which node types are in use, in which version: by workflows as they are drawn, by their published
 * versions, and by open runs. So operators see what they can take away.
 *
 * Guarantees: pure; what a store cannot count by itself, it counts here.
 */
import { Schema } from "effect"
import { isJsonObject } from "./Json.ts"
import { AccountId, WorkflowId } from "./Id.ts"
import { typeUsersListed } from "./Limits.ts"
import type { Definition } from "./Run.ts"
import type { Node, Workflow } from "./Workflow.ts"

/** A workflow that uses a type. */
export const TypeUser = Schema.Struct({
  accountId: AccountId,
  workflowId: WorkflowId,
  workflowName: Schema.String,
})
export type TypeUser = typeof TypeUser.Type

/** Where nodes of a version of a type are. */
export interface TypeUse {
  readonly type: string
  /** `null`: of nodes that name none, where no version is known to be the oldest. */
  readonly version: number | null
  /** How many workflows have such a node as they are drawn. */
  readonly drafts: number
  /** How many published versions of workflows have one. */
  readonly published: number
  /** How many open runs have one in their graph, or in that of a workflow which they may call. */
  readonly openRuns: number
  /** The first workflows by account and identifier, `typeUsersListed` at most. */
  readonly workflows: ReadonlyArray<TypeUser>
}

/** The oldest version of each type that is known, by key. */
export type OldestVersions = Readonly<Record<string, number>>

/** The nodes of a run, and of the workflows that it may call. */
const nodesOf = ({ nodes, settings }: Definition): ReadonlyArray<Node> => [
  ...nodes,
  ...Object.values(settings.workflows ?? {}).flatMap((called) => called.nodes),
]

interface Counted {
  readonly type: string
  readonly version: number | null
  drafts: number
  published: number
  openRuns: number
  readonly users: Map<string, TypeUser>
}

/** Counts what uses types. Mutable. */
export class TypeUses {
  readonly #counted = new Map<string, Counted>()
  readonly #oldest: OldestVersions

  constructor(oldest: OldestVersions) {
    this.#oldest = oldest
  }

  /** A workflow as it is drawn, and its published versions. */
  addWorkflow(workflow: Workflow, versions: Iterable<Pick<Workflow, "nodes">>): void {
    const { accountId, id: workflowId, name: workflowName } = workflow
    const add = (kind: "drafts" | "published", { nodes }: Pick<Workflow, "nodes">) => {
      for (const counted of this.#of(nodes)) {
        counted[kind] += 1
        counted.users.set(`${accountId}\n${workflowId}`, { accountId, workflowId, workflowName })
      }
    }
    add("drafts", workflow)
    for (const version of versions) add("published", version)
  }

  /** Open runs of one definition. */
  addRuns(definition: Definition, runs: number): void {
    for (const counted of this.#of(nodesOf(definition))) counted.openRuns += runs
  }

  /** What was counted, in no order. */
  all(): ReadonlyArray<TypeUse> {
    return [...this.#counted.values()].map(({ users, ...counts }) => ({
      ...counts,
      workflows: [...users]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .slice(0, typeUsersListed)
        .map(([, user]) => user),
    }))
  }

  #of(nodes: ReadonlyArray<Node>): ReadonlySet<Counted> {
    return new Set(nodes.map((node) => this.#countedOf(node)))
  }

  #countedOf({ data, type }: Node): Counted {
    const named = isJsonObject(data) ? data["version"] : undefined
    const oldest = Object.hasOwn(this.#oldest, type) ? this.#oldest[type]! : null
    const version = typeof named === "number" ? named : oldest
    const key = JSON.stringify([type, version])
    const known = this.#counted.get(key)
    if (known !== undefined) return known
    const fresh = { type, version, drafts: 0, published: 0, openRuns: 0, users: new Map() }
    this.#counted.set(key, fresh)
    return fresh
  }
}
