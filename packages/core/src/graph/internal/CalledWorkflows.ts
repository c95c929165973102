/**
 * Workflows that nodes of other workflows call: which ones a drawing names, which inputs their
 * nodes have for it, and which of them ask a person.
 *
 * Guarantees: pure. Leaves out: workflows whose ids are computed, reading any, and cycles.
 */
import { Schema } from "effect"
import { approvalType } from "../../domain/Approval.ts"
import type { Calls, InputPort, NodeType, NodeTypesByKey, Ports } from "../../domain/NodeType.ts"
import { typeOfNode } from "../../domain/NodeType.ts"
import type { CalledWorkflow, CalledWorkflows, InputOverrides } from "../../domain/Run.ts"
import { calledKey } from "../../domain/Run.ts"
import type { Node, NodeSettings } from "../../domain/Workflow.ts"
import { settingsOf } from "../../domain/Workflow.ts"
import { VersionChoice } from "../../domain/WorkflowVersion.ts"
import { readLiteral } from "./Literal.ts"
import type { RequestField } from "./RequestFields.ts"
import { clausesOfField, fieldsOf, requestIn, schemaOfField } from "./RequestFields.ts"

/** A workflow, and what is asked of it: a start would take it, or the draft, or a version. */
export interface CallTarget {
  readonly workflowId: string
  readonly version: VersionChoice | undefined
  /** Its name among the workflows that a run keeps. */
  readonly key: string
}

/** A node, and what it calls. */
export interface Call extends CallTarget {
  readonly nodeId: string
  /** The input with the id of the workflow. */
  readonly port: string
  /** The inputs that say what is called. */
  readonly ports: ReadonlyArray<string>
}

const isVersion = Schema.is(VersionChoice)

/** The workflow that a node with these settings calls, if all that says so is drawn. */
export const namedIn = (
  { calls }: NodeType,
  { inputs }: Pick<NodeSettings, "inputs">,
): CallTarget | undefined => {
  if (calls === undefined) return undefined
  const drawn = (port: string) => (Object.hasOwn(inputs, port) ? inputs[port] : undefined)
  const workflowId = drawn(calls.input)
  if (typeof workflowId !== "string" || readLiteral(workflowId) !== undefined) return undefined
  const version = calls.version === undefined ? undefined : drawn(calls.version)
  if (version !== undefined && !isVersion(version)) return undefined
  return { workflowId, version, key: calledKey(workflowId, version) }
}

const callOf = (nodeId: string, { input, version }: Calls, target: CallTarget): Call => ({
  ...target,
  nodeId,
  port: input,
  ports: version === undefined ? [input] : [input, version],
})

interface CallingNode {
  readonly id: string
  readonly type: NodeType
  readonly settings: Pick<NodeSettings, "inputs">
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
    const target = namedIn(type, { inputs: { ...drawn, ...given } })
    return disabled || target === undefined ? [] : [callOf(node.id, type.calls, target)]
  })

/** What a node of a compiled graph calls once, if all that says so is drawn. */
export const callOnceOf = ({ id, settings, type }: CallingNode): Call | undefined => {
  const target = type.calls?.times === "once" ? namedIn(type, settings) : undefined
  return target === undefined ? undefined : callOf(id, type.calls!, target)
}

const workflowOf = (
  type: NodeType,
  settings: NodeSettings,
  workflows: CalledWorkflows,
): CalledWorkflow | undefined => {
  const key = namedIn(type, settings)?.key
  return key !== undefined && Object.hasOwn(workflows, key) ? workflows[key] : undefined
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

/** The keys of the workflows that ask somebody, by their own nodes or by what they call. */
export const asking = (workflows: CalledWorkflows, types: NodeTypesByKey): ReadonlySet<string> => {
  const found = new Set<string>()
  const asks = ({ nodes }: CalledWorkflow) =>
    nodes.some((node) => node.type === approvalType && !settingsOf(node).disabled) ||
    callsIn(nodes, {}, types).some(({ key }) => found.has(key))
  let known = -1
  while (found.size > known) {
    known = found.size
    for (const [key, workflow] of Object.entries(workflows)) if (asks(workflow)) found.add(key)
  }
  return found
}

/** The revisions of what a call leads to, as a text to compare. */
const revisionsOf = (call: Call, workflows: CalledWorkflows, types: NodeTypesByKey): string => {
  const revisions = new Map<string, number>()
  const left = [call.key]
  for (let key = left.pop(); key !== undefined; key = left.pop()) {
    const called = Object.hasOwn(workflows, key) ? workflows[key] : undefined
    if (called === undefined || revisions.has(key)) continue
    revisions.set(key, called.revision)
    left.push(...callsIn(called.nodes, {}, types).map((each) => each.key))
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
    asking: idsOf(calls.filter(({ key }) => asked.has(key))),
  }
}
