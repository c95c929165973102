/**
 * Workflows that nodes of other workflows call: which ones a drawing names, which inputs their
 * nodes have for it, and which of them ask a person.
 *
 * Guarantees: pure. Leaves out: workflows whose ids are computed, reading any, and cycles.
 */
import { approvalType } from "../../domain/Approval.ts"
import type { InputPort, NodeType, NodeTypesByKey, Ports } from "../../domain/NodeType.ts"
import { typeOfNode } from "../../domain/NodeType.ts"
import type { CalledWorkflow, CalledWorkflows, InputOverrides } from "../../domain/Run.ts"
import type { Node, NodeSettings } from "../../domain/Workflow.ts"
import { settingsOf } from "../../domain/Workflow.ts"
import { readLiteral } from "./Literal.ts"
import type { RequestField } from "./RequestFields.ts"
import { clausesOfField, fieldsOf, requestIn, schemaOfField } from "./RequestFields.ts"

/** A node, and the id of the workflow that it calls. */
export interface Call {
  readonly nodeId: string
  readonly port: string
  readonly workflowId: string
}

/** The workflow that a node with these settings calls by an id that is drawn. */
export const namedIn = ({ calls }: NodeType, { inputs }: Pick<NodeSettings, "inputs">) => {
  if (calls === undefined || !Object.hasOwn(inputs, calls.input)) return undefined
  const id = inputs[calls.input]
  return typeof id === "string" && readLiteral(id) === undefined ? id : undefined
}

/** The workflows that enabled nodes call by ids that are drawn, or that a start gives. */
export const callsIn = (
  nodes: ReadonlyArray<Node>,
  overrides: InputOverrides,
  types: NodeTypesByKey,
): ReadonlyArray<Call> =>
  nodes.flatMap((node) => {
    const type = typeOfNode(types, node)
    if (type?.calls === undefined) return []
    const { disabled, inputs: drawn } = settingsOf(node)
    const given = Object.hasOwn(overrides, node.id) ? overrides[node.id] : undefined
    const workflowId = namedIn(type, { inputs: { ...drawn, ...given } })
    return disabled || workflowId === undefined
      ? []
      : [{ nodeId: node.id, port: type.calls.input, workflowId }]
  })

const workflowOf = (
  type: NodeType,
  settings: NodeSettings,
  workflows: CalledWorkflows,
): CalledWorkflow | undefined => {
  const id = namedIn(type, settings)
  return id !== undefined && Object.hasOwn(workflows, id) ? workflows[id] : undefined
}

const inputOf = (field: RequestField, isNeeded: boolean): InputPort => ({
  name: field.name,
  required: isNeeded && field.required && field.default === undefined,
  multiple: false,
  schema: schemaOfField(field),
  check: (value) => clausesOfField(field, value),
})

/** What the ports of a node depend on beside its settings. */
export interface CalledPorts {
  readonly types: NodeTypesByKey
  readonly workflows: CalledWorkflows
}

/**
 * The ports of a node. The Request fields of the workflow that it calls once are inputs, too; with
 * `hasValues`, none of them is required, because the values may bring it.
 */
export const portsOf = (
  type: NodeType,
  settings: NodeSettings,
  { types, workflows }: CalledPorts,
  hasValues: boolean,
): Ports => {
  const ports = type.portsOf(settings)
  if (type.calls?.times !== "once") return ports
  const called = workflowOf(type, settings, workflows)
  const request = called === undefined ? undefined : requestIn(called.nodes, types)
  if (request === undefined) return ports
  const inputs = new Map(ports.inputs)
  for (const field of fieldsOf(request)) {
    if (!inputs.has(field.name)) inputs.set(field.name, inputOf(field, !hasValues))
  }
  return { ...ports, inputs }
}

/** Those of these workflows in which somebody is asked, by their own nodes or by what they call. */
export const asking = (workflows: CalledWorkflows, types: NodeTypesByKey): ReadonlySet<string> => {
  const found = new Set<string>()
  const asks = ({ nodes }: CalledWorkflow) =>
    nodes.some((node) => node.type === approvalType && !settingsOf(node).disabled) ||
    callsIn(nodes, {}, types).some(({ workflowId }) => found.has(workflowId))
  let known = -1
  while (found.size > known) {
    known = found.size
    for (const [id, workflow] of Object.entries(workflows)) if (asks(workflow)) found.add(id)
  }
  return found
}

/** The revisions of what a call leads to, as a text to compare. */
const revisionsOf = (
  { workflowId }: Call,
  workflows: CalledWorkflows,
  types: NodeTypesByKey,
): string => {
  const revisions = new Map<string, number>()
  const left = [workflowId]
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    const called = Object.hasOwn(workflows, id) ? workflows[id] : undefined
    if (called === undefined || revisions.has(id)) continue
    revisions.set(id, called.revision)
    left.push(...callsIn(called.nodes, {}, types).map((each) => each.workflowId))
  }
  return JSON.stringify([...revisions].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** What a rerun has to know of nodes that call workflows. */
export interface RerunCalls {
  /** Nodes that call what is not drawn as it was. */
  readonly changed: ReadonlySet<string>
  /** Nodes that call a workflow in which a person is asked. */
  readonly asking: ReadonlySet<string>
}

/** Compares what nodes call with what they called; a run of before may not have kept that. */
export const rerunCallsOf = (
  calls: ReadonlyArray<Call>,
  before: CalledWorkflows | undefined,
  now: CalledWorkflows,
  types: NodeTypesByKey,
): RerunCalls => {
  const asked = asking(now, types)
  const idsOf = (found: ReadonlyArray<Call>) => new Set(found.map(({ nodeId }) => nodeId))
  const isChanged = (call: Call) =>
    before !== undefined && revisionsOf(call, before, types) !== revisionsOf(call, now, types)
  return {
    changed: idsOf(calls.filter(isChanged)),
    asking: idsOf(calls.filter(({ workflowId }) => asked.has(workflowId))),
  }
}
