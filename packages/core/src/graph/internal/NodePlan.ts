/**
 * One node of a run: its type, its ports, the values it was given, and whether those make sense.
 *
 * Guarantees: every problem of the node at once, each naming the node and, where there is one, the
 * port. Leaves out: the edges themselves; it is told which inputs have one.
 */
import type { JsonObject } from "../../domain/Json.ts"
import type {
  KnownInputs,
  LiteralScript,
  NodeType,
  NodeTypesByKey,
  Ports,
  TakenSignals,
} from "../../domain/NodeType.ts"
import {
  defaultInput,
  defaultOutput,
  errorOutput,
  typeOfNode,
  versionsOf,
} from "../../domain/NodeType.ts"
import type { NodePolicy } from "../../domain/NodePolicy.ts"
import { readPolicy } from "../../domain/NodePolicy.ts"
import { nearestHint, hintOf } from "../../domain/Nearest.ts"
import { problemsShown } from "../../domain/Limits.ts"
import { listed, plain, quoted } from "../../domain/Quote.ts"
import type { CalledWorkflows, InputOverrides } from "../../domain/Run.ts"
import type { Node, NodeSettings } from "../../domain/Workflow.ts"
import { dataKeys, settingsOf } from "../../domain/Workflow.ts"
import { portsOf } from "./CalledWorkflows.ts"
import { lastingClauses, type Literal, type NodeLiterals, readLiteral } from "./Literal.ts"
import { type Problem, problemOfNode } from "./Problem.ts"

/** What a run knows of a node before it executes. */
export interface NodePlan {
  readonly node: Node
  /** The node's settings; among the literals, this run's overrides have replaced the drawn ones. */
  readonly settings: NodeSettings
  readonly type: NodeType
  /** Of these settings; the reserved `error` output is listed only where the type declares it. */
  readonly ports: Ports
  /** This run's values for inputs of this node, by port; they win over edges and literals. */
  readonly overrides: JsonObject
  /** What becomes of the node when an attempt fails. */
  readonly policy: NodePolicy
  /** Its literals with expressions; `undefined` for none. */
  readonly literals: NodeLiterals | undefined
  /** True for a node without edges that lacks a required input, and for a note: runs skip both. */
  readonly isUnused: boolean
  /**
   * Of a disabled node: the input and the output that it joins like a wire, or `null` where its
   * out-edges are dead. `undefined` for an enabled node.
   */
  readonly passThrough: readonly [string, string] | null | undefined
}

/** The JavaScript in the raw literals of a node, by port; what a start brings is none of it. */
export const scriptsOf = ({
  isUnused,
  node,
  overrides,
  ports,
  settings,
}: NodePlan): ReadonlyArray<readonly [port: string, script: LiteralScript]> =>
  isUnused || settings.disabled
    ? []
    : Object.entries(settingsOf(node).inputs).flatMap(([port, literal]) => {
        const scriptOf = ports.inputs.get(port)?.scriptOf
        const script = Object.hasOwn(overrides, port) ? undefined : scriptOf?.(literal)
        return script === undefined ? [] : [[port, script] as const]
      })

/** Which edges touch a node. */
export interface Wiring {
  /** Inputs at which an edge ends. */
  readonly inputs: ReadonlySet<string>
  /** True when an edge starts at the reserved `error` output. */
  readonly routesErrors: boolean
  /** True when no edge touches the node at all. */
  readonly edgeless: boolean
  /** True when other nodes lie in it, as the body of a loop. */
  readonly hasBody: boolean
}

const noOverrides: JsonObject = {}

/** How a drawing is read. */
export interface PlanOptions {
  readonly types: NodeTypesByKey
  /** This run's values for inputs, by node and port. */
  readonly overrides: InputOverrides
  /** True if texts with `{{` are expressions. Those of older definitions are not. */
  readonly evaluates: boolean
  /** In the body of a loop: the nodes outside of it, whose outputs are known. */
  readonly given?: ReadonlySet<string> | undefined
  /** The workflows that its nodes call. */
  readonly workflows?: CalledWorkflows | undefined
}

const noWorkflows: CalledWorkflows = {}

const noPorts: Ports = { inputs: new Map(), outputs: new Map() }

/** Stands for the types of nodes whose outputs are known: nothing is checked a second time. */
const givenType: NodeType = {
  key: "given",
  version: 1,
  name: "Given",
  description: "",
  category: "flow",
  modes: [],
  join: "any",
  role: "given",
  delivery: "at-least-once",
  effects: "none",
  policy: { retry: undefined, timeoutMillis: undefined },
  portsOf: () => noPorts,
  estimate: () => 0,
}

/** The plan of a node whose outputs are known. */
const givenPlan = (node: Node): NodePlan => ({
  node,
  settings: settingsOf(node),
  type: givenType,
  ports: noPorts,
  overrides: noOverrides,
  policy: readPolicy({}, givenType.policy, false).policy,
  literals: undefined,
  isUnused: false,
  passThrough: undefined,
})

/**
 * The plan of a node, adding what is wrong with it to `problems`. Without a plan (`undefined`) the
 * type or the mode is unknown, so nothing can be said about ports.
 */
export const planOf = (
  node: Node,
  { evaluates, given, overrides: allOverrides, types, workflows = noWorkflows }: PlanOptions,
  wiring: Wiring,
  problems: Array<Problem>,
): NodePlan | undefined => {
  if (given?.has(node.id) === true) return givenPlan(node)
  const drawn = settingsOf(node)
  const type = typeOf(node, drawn, types, problems)
  if (type === undefined) return undefined
  const overrides = Object.hasOwn(allOverrides, node.id) ? allOverrides[node.id]! : noOverrides
  const settings =
    overrides === noOverrides ? drawn : { ...drawn, inputs: { ...drawn.inputs, ...overrides } }
  const values = type.calls?.values ?? ""
  const hasValues = wiring.inputs.has(values) || Object.hasOwn(settings.inputs, values)
  const ports = portsOf(type, settings, { types, workflows }, hasValues)
  const missing = missingInputs(ports, settings, wiring)
  const lacksValues = wiring.edgeless && !settings.disabled && missing.length > 0
  const isUnused = lacksValues || type.role === "note"
  if (!settings.disabled && !isUnused) {
    for (const port of missing) {
      const reason = `required input ${quoted(port)} has neither a value nor an edge`
      problems.push(problemOfNode(node.id, reason, { port }))
    }
  }
  const policy = policyOf(node, type, ports, wiring.routesErrors, problems)
  const literals = evaluates ? literalsOf(drawn.inputs, overrides, ports, policy) : undefined
  // Nothing reads the literals of an unused node, so only what this start asked for can be wrong.
  const checked = isUnused ? overrides : settings.inputs
  const unfit = addProblemsOfValues(node.id, ports, checked, literals, problems)
  if (evaluates && !isUnused) addProblemsOfRaw(node.id, drawn.inputs, overrides, ports, problems)
  const passThrough = settings.disabled ? wireOf(type, ports) : undefined
  const plan = { node, settings, type, ports, overrides, policy, literals, isUnused, passThrough }
  if (evaluates) addProblemsTogether(plan, wiring, unfit, problems)
  return plan
}

/** What a type says against inputs that do not fit each other. */
const addProblemsTogether = (
  plan: NodePlan,
  wiring: Wiring,
  unfit: ReadonlySet<string>,
  problems: Array<Problem>,
): void => {
  const { isUnused, node, settings, type } = plan
  if (isUnused || settings.disabled || type.problemsOfInputs === undefined) return
  for (const [port, clause] of type.problemsOfInputs(knownInputs(plan, wiring, unfit))) {
    problems.push(problemOfNode(node.id, `input ${quoted(port)}: ${clause}`, { port }))
  }
}

/** What is sure of a node's inputs, without those that do not fit. */
const knownInputs = (
  { literals, overrides, settings, type }: NodePlan,
  { hasBody, inputs }: Wiring,
  unfit: ReadonlySet<string>,
): KnownInputs => {
  const isKnown = (port: string) =>
    !unfit.has(port) &&
    literals?.inputs.has(port) !== true &&
    (Object.hasOwn(overrides, port) || !inputs.has(port))
  return {
    values: Object.fromEntries(Object.entries(settings.inputs).filter(([port]) => isKnown(port))),
    mayHave: (port) => inputs.has(port) || Object.hasOwn(settings.inputs, port),
    mode: settings.mode ?? type.modes[0] ?? "",
    hasBody,
  }
}

/** The signals that a node without problems takes, as far as that is sure; see `NodeType`. */
export const signalsOf = (plan: NodePlan, wiring: Wiring): TakenSignals | undefined =>
  plan.isUnused || plan.settings.disabled
    ? undefined
    : plan.type.signalsOf?.(knownInputs(plan, wiring, new Set()))

/** Reads the literals with expressions. What a start brings is never read. */
const literalsOf = (
  drawn: JsonObject,
  overrides: JsonObject,
  { inputs }: Ports,
  { fallback }: NodePolicy,
): NodeLiterals | undefined => {
  const read = (values: JsonObject, isRead: (port: string) => boolean) => {
    const literals = new Map<string, Literal>()
    for (const [port, value] of Object.entries(values)) {
      const literal = isRead(port) ? readLiteral(value) : undefined
      if (literal !== undefined) literals.set(port, literal)
    }
    return literals
  }
  const isRead = (port: string) =>
    !Object.hasOwn(overrides, port) && inputs.has(port) && inputs.get(port)?.isRaw !== true
  const literals = { inputs: read(drawn, isRead), fallback: read(fallback ?? {}, () => true) }
  return literals.inputs.size + literals.fallback.size === 0 ? undefined : literals
}

/** What a type that fills in `{{ }}` itself says against literals. */
const addProblemsOfRaw = (
  nodeId: string,
  drawn: JsonObject,
  overrides: JsonObject,
  { inputs }: Ports,
  problems: Array<Problem>,
): void => {
  for (const [port, literal] of Object.entries(drawn)) {
    if (Object.hasOwn(overrides, port)) continue
    for (const clause of inputs.get(port)?.problemsOfLiteral?.(literal) ?? []) {
      problems.push(problemOfNode(nodeId, `input ${quoted(port)}: ${clause}`, { port }))
    }
  }
}

const policyOf = (
  node: Node,
  type: NodeType,
  { outputs }: Ports,
  routesErrors: boolean,
  problems: Array<Problem>,
): NodePolicy => {
  const read = readPolicy(node.data, type.policy, routesErrors)
  for (const reason of read.problems) problems.push(problemOfNode(node.id, reason))
  for (const port of Object.keys(read.policy.fallback ?? {})) {
    if (port === errorOutput || outputs.has(port)) continue
    const hint = hintAt(port, outputs.keys(), problems)
    const reason = `default: has no output ${quoted(port)}; ${hint}`
    problems.push(problemOfNode(node.id, reason, { port }))
  }
  return read.policy
}

/** The node's type, if this process knows it in the node's version and mode. */
const typeOf = (
  node: Node,
  { mode, version }: NodeSettings,
  types: NodeTypesByKey,
  problems: Array<Problem>,
): NodeType | undefined => {
  const refuse = (reason: string) => problems.push(problemOfNode(node.id, reason))
  const key = quoted(node.type)
  const type = typeOfNode(types, node)
  if (type === undefined) {
    const near = problems.length < problemsShown ? nearestHint(node.type, types.keys()) : ""
    const own = "; a type of your own has to be among the nodes of the engine or server"
    refuse(`unknown type ${key}${near === "" ? own : near}`)
    return undefined
  }
  if (version !== undefined && version !== type.version) {
    const known = versionsOf(types.get(node.type)!).map((each) => each.version)
    refuse(`unknown version ${version} of type ${key}; it has ${known.join(", ")}`)
  }
  if (mode !== undefined && !type.modes.includes(mode)) {
    refuse(`unknown mode ${quoted(mode)} of type ${key}; ${hintAt(mode, type.modes, problems)}`)
    return undefined
  }
  return type
}

const missingInputs = (
  { inputs }: Ports,
  settings: NodeSettings,
  wiring: Wiring,
): ReadonlyArray<string> => {
  const missing: Array<string> = []
  for (const { name, required } of inputs.values()) {
    if (!required || wiring.inputs.has(name) || Object.hasOwn(settings.inputs, name)) continue
    missing.push(name)
  }
  return missing
}

/** Adds what is wrong with values, and gives the ports that they do not fit. */
const addProblemsOfValues = (
  nodeId: string,
  { inputs }: Ports,
  values: JsonObject,
  literals: NodeLiterals | undefined,
  problems: Array<Problem>,
): ReadonlySet<string> => {
  const unfit = new Set<string>()
  for (const [name, value] of Object.entries(values)) {
    const port = inputs.get(name)
    if (port === undefined) {
      const reason = (dataKeys as ReadonlyArray<string>).includes(name)
        ? `has no input ${quoted(name)}; this key of its data stands beside "inputs"`
        : unknownInput(name, inputs, problems)
      problems.push(problemOfNode(nodeId, reason, { port: name }))
      unfit.add(name)
      continue
    }
    const literal = literals?.inputs.get(name)
    const clauses = port.check(value)
    for (const clause of literal === undefined ? clauses : lastingClauses(literal, clauses)) {
      const reason = `input ${quoted(name)}: ${clause}`
      problems.push(problemOfNode(nodeId, reason, { port: name }))
      unfit.add(name)
    }
  }
  return unfit
}

/** Problems that come late get no guess, because each one may compare many names. */
const hintAt = (name: string, known: Iterable<string>, problems: ReadonlyArray<Problem>): string =>
  problems.length < problemsShown ? hintOf(name, known) : `it has ${listed(known)}`

const unknownInput = (
  port: string,
  inputs: Ports["inputs"],
  problems: ReadonlyArray<Problem>,
): string => `has no input ${quoted(port)}; ${hintAt(port, inputs.keys(), problems)}`

/**
 * Refuses an edge that ends at an input which the node does not have. A node with expressions has
 * an `input` for them, even if its type has none.
 */
export const addProblemOfInput = (
  { literals, node, ports: { inputs } }: NodePlan,
  name: string,
  edgeId: string,
  problems: Array<Problem>,
): void => {
  if (inputs.has(name) || (name === defaultInput && literals !== undefined)) return
  const message = `${endOf(edgeId, node)} ${unknownInput(name, inputs, problems)}`
  problems.push({ message, nodeId: node.id, edgeId, port: name })
}

/**
 * Refuses an edge that starts at an output which the node does not have. Every node has the
 * reserved `error` output. An edge into the body of a loop starts at what the body sees of it.
 */
export const addProblemOfOutput = (
  { node, ports: { outputs }, type }: NodePlan,
  name: string,
  edgeId: string,
  isInner: boolean,
  problems: Array<Problem>,
): void => {
  if (type.role === "given") return
  if (isInner) {
    if (type.body!.has(name)) return
    const hint = hintAt(name, type.body!.keys(), problems)
    const message = `${endOf(edgeId, node)} has no ${quoted(name)} for its body; ${hint}`
    problems.push({ message, nodeId: node.id, edgeId, port: name })
    return
  }
  if (name === errorOutput || outputs.has(name)) return
  const known = outputs.has(errorOutput) ? outputs.keys() : [...outputs.keys(), errorOutput]
  const hint = hintAt(name, known, problems)
  const message = `${endOf(edgeId, node)} has no output ${quoted(name)}; ${hint}`
  problems.push({ message, nodeId: node.id, edgeId, port: name })
}

const endOf = (edgeId: string, { id, type }: Node): string =>
  `Edge ${quoted(edgeId)}: node ${quoted(id)} (type ${plain(type)})`

/**
 * The wire that a disabled node turns into: the default ports where it has both, else its only
 * input and output, else the first input that has an output of the same name. A node without
 * failures needs no `error` output, so that one does not count; a request node's inputs are
 * declarations, not data.
 */
const wireOf = (type: NodeType, { inputs, outputs }: Ports): readonly [string, string] | null => {
  if (type.role === "request") return null
  if (inputs.has(defaultInput) && outputs.has(defaultOutput)) return [defaultInput, defaultOutput]
  const ins = Array.from(inputs.keys())
  const outs = Array.from(outputs.keys()).filter((name) => name !== errorOutput)
  if (ins.length === 1 && outs.length === 1) return [ins[0]!, outs[0]!]
  const same = ins.find((name) => outs.includes(name))
  return same === undefined ? null : [same, same]
}
