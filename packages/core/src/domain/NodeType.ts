/**
 * Node types without their handlers: the ports of a node, the checks of its literals, and its
 * expected cost.
 */
import type { MicroCredits } from "./Credits.ts"
import { isAmount } from "./Credits.ts"
import { isJsonObject, type Json, type JsonObject } from "./Json.ts"
import type { TypePolicy } from "./NodePolicy.ts"
import type { Node, NodeSettings } from "./Workflow.ts"

/** The port an edge means when its `sourceHandle` is absent or empty. */
export const defaultOutput = "output"

/** The port an edge means when its `targetHandle` is absent or empty. */
export const defaultInput = "input"

/** The reserved output port on which a handled failure leaves a node. */
export const errorOutput = "error"

/** JavaScript that a literal of a raw input holds. */
export interface LiteralScript {
  readonly text: string
  /** The variables that it is given. */
  readonly names: ReadonlyArray<string>
  /** True for the body of a function, with statements and `return`. */
  readonly isBody: boolean
  /** Where in the literal it begins, in characters from 0. */
  readonly at: number
}

/** A named input of a node. */
export interface InputPort {
  readonly name: string
  /** True if a node cannot execute without a value here. */
  readonly required: boolean
  /** True if several edges may lead here. The value is then an array in the order of the edges. */
  readonly multiple: boolean
  /** JSON Schema of the value, for people and for forms. */
  readonly schema: JsonObject
  /** True if it takes values of other types than `schema` says, because it converts them. */
  readonly convertsTypes?: boolean
  /** Every reason why a value does not fit, as clauses without a path; empty when it fits. */
  readonly check: (value: Json) => ReadonlyArray<string>
  /** True if a literal here may name secrets: `{{ secrets.name }}`. Records keep the expression. */
  readonly takesSecrets?: boolean
  /** True if expressions in its literals are not computed: its handler gets texts as they are. */
  readonly isRaw?: boolean
  /**
   * For a raw port whose handler fills in `{{ }}` itself: every reason, beyond those of `check`,
   * why a start refuses a literal. Values, overrides and older definitions are not checked.
   */
  readonly problemsOfLiteral?: (literal: Json) => ReadonlyArray<string>
  /** For a raw port with JavaScript: what a start looks at, and refuses where it is malformed. */
  readonly scriptOf?: (literal: Json) => LiteralScript | undefined
}

/** A named output of a node. */
export interface OutputPort {
  readonly name: string
  /** True if a node that completes always puts something out here. */
  readonly required?: boolean
  /** JSON Schema of the value, for people. */
  readonly schema: JsonObject
}

/** The ports of one node, after its mode and its literals apply. Iteration is declaration order. */
export interface Ports {
  readonly inputs: ReadonlyMap<string, InputPort>
  readonly outputs: ReadonlyMap<string, OutputPort>
}

/** What leaves a node by its port `error` where its type has none of its own. */
const errorPort = {
  name: errorOutput,
  schema: {
    type: "object",
    properties: {
      message: { type: "string" },
      nodeId: { type: "string" },
      attempt: { type: "integer" },
    },
    required: ["message", "nodeId", "attempt"],
    description: "Why the node failed, where an edge starts here or its onError is route.",
  },
}

/** The ports of a node of this type, with `error`, from which every node may be left. */
export const withError = ({ inputs, outputs }: Ports, { role }: NodeType): Ports =>
  role === "note" || outputs.has(errorOutput)
    ? { inputs, outputs }
    : { inputs, outputs: new Map([...outputs, [errorOutput, errorPort]]) }

/** What a node with these inputs puts out, for people and for assistants. */
export interface NodeExample {
  readonly inputs: JsonObject
  /** Absent: the default mode. */
  readonly mode?: string
  readonly outputs: JsonObject
}

/** What is sure of the inputs of a node before it executes. */
export interface KnownInputs {
  /** Values that fit their ports, and that no edge and no expression can change. */
  readonly values: JsonObject
  /** True for an input that may have a value, whatever it is. */
  readonly mayHave: (port: string) => boolean
  /** The mode in force; empty where the type has none. */
  readonly mode: string
  /** True for a loop with nodes in its body. */
  readonly hasBody: boolean
}

/** The signals that a node takes. */
export interface TakenSignals {
  readonly name: string
  /** Why a payload does not fit, as a clause; `undefined` if it fits. */
  readonly problemOf: (payload: Json) => string | undefined
}

/** That nodes of a type execute other workflows. */
export interface Calls {
  /** The input with the id of the workflow. A start freezes the workflow of an id that is drawn. */
  readonly input: string
  /** The input that asks for the draft or for a version; without one, a start would take it. */
  readonly version?: string
  /** The input with the values of its runs. */
  readonly values: string
  /**
   * `once`: a node starts one run, and the fields of the workflow's Request node are inputs of the
   * node. `each`: it starts any number of runs.
   */
  readonly times: "once" | "each"
}

/** A node type without its handler. */
export interface NodeType {
  /** The `type` of nodes of this type: `http_request`. */
  readonly key: string
  /** From 1. It rises if a change alters what existing nodes do. */
  readonly version: number
  /** The later versions that are registered beside this one, the oldest first. */
  readonly newer?: ReadonlyArray<NodeType>
  /** Why nobody should add nodes of it: what to use in its place. Empty: nothing is said. */
  readonly deprecated?: string
  /** A title for people. */
  readonly name: string
  readonly description: string
  /** The group in which a palette shows it: `flow`, `data`, `network`, or the author's own word. */
  readonly category: string
  /** The name of its picture, one of lucide's: `credit-card`. Absent: that of its category. */
  readonly icon?: string
  /** More about it, for people: the address of a page, or a text in Markdown. */
  readonly docs?: string
  /**
   * Where it comes from: `built-in`, or the module that the server was started with. Absent: the
   * application that the engine is a part of.
   */
  readonly origin?: string
  /** Names of the modes, the default first; empty for a type without modes. */
  readonly modes: ReadonlyArray<string>
  /** `all`: the node is skipped unless all its incoming edges are taken. `any` is the default. */
  readonly join: "any" | "all"
  /**
   * `request`: at most one in a workflow, hands the run's values to the graph. `response`: its
   * input becomes the run's output. `note`: never executed, whatever its literals are. `given`: in
   * the graph of a body, a node outside of it, whose outputs are known. `step`: everything else.
   */
  readonly role: "request" | "response" | "note" | "given" | "step"
  /**
   * Of a loop: what the nodes within it, its body, see of it, by port. Absent: no other node can
   * lie in a node of this type.
   */
  readonly body?: ReadonlyMap<string, OutputPort>
  /**
   * True if somebody has to send the run something before a node goes on, such as an approval. A
   * start cannot give the outputs of such a node.
   */
  readonly waitsForSignal?: boolean
  /** Absent: its nodes execute no other workflow. */
  readonly calls?: Calls
  /** Which signals a node takes, as far as that is sure before it executes. Pure. */
  readonly signalsOf?: (known: KnownInputs) => TakenSignals | undefined
  /**
   * What follows a crash during an attempt. `at-least-once`: the node is attempted again, even if
   * its policy has no attempt left. `at-most-once`: it fails, because its outcome is unknown.
   */
  readonly delivery: "at-least-once" | "at-most-once"
  /**
   * `none`: a node only computes its outputs from its inputs, so it may be computed again. Such
   * nodes need not wait until what they depend on is stored. `reads`: it looks at the outside
   * world. `writes`: it changes something there.
   */
  readonly effects: "none" | "reads" | "writes"
  readonly example?: NodeExample
  /** The retries and the timeout of nodes whose `data` has none. */
  readonly policy: TypePolicy
  /**
   * The ports of a node with these settings. Pure and total: it is called before the literals are
   * checked, so it must accept any JSON there. Called once per node of a graph.
   */
  readonly portsOf: (settings: NodeSettings) => Ports
  /** What a start refuses of inputs that fit their ports, but not each other. Pure. */
  readonly problemsOfInputs?: (
    known: KnownInputs,
  ) => ReadonlyArray<readonly [port: string, clause: string]>
  /** What one execution is expected to cost. Pure. */
  readonly estimate: (settings: NodeSettings) => MicroCredits
}

/**
 * What one execution is expected to cost: what `listed` says, else what the type declares;
 * `undefined` if that is no valid amount.
 */
export const estimateOf = (
  type: NodeType,
  settings: NodeSettings,
  listed: MicroCredits | undefined,
): MicroCredits | undefined => {
  if (listed !== undefined) return isAmount(listed) ? listed : undefined
  try {
    const estimate = type.estimate(settings)
    return isAmount(estimate) ? estimate : undefined
  } catch {
    return undefined
  }
}

/** Where the types come from that every engine has. */
export const builtinOrigin = "built-in"

/** The node types that a process knows, by key: of each the oldest version. */
export type NodeTypesByKey = ReadonlyMap<string, NodeType>

/** All versions of a type of {@link NodeTypesByKey}, the oldest first. */
export const versionsOf = (type: NodeType): ReadonlyArray<NodeType> =>
  type.newer === undefined ? [type] : [type, ...type.newer]

/**
 * The type of a node: in the version that it names. The oldest one if it names none, because it may
 * have been drawn before there was another; and if there is no such version, which a start refuses.
 */
export const typeOfNode = (
  types: NodeTypesByKey,
  { data, type: key }: Node,
): NodeType | undefined => {
  const oldest = types.get(key)
  if (oldest?.newer === undefined) return oldest
  const version = isJsonObject(data) ? data["version"] : undefined
  return oldest.newer.find((each) => each.version === version) ?? oldest
}

/**
 * The version that a new node of a type names, if there are several: the latest that is in use, or
 * else the latest.
 */
export const versionOfNew = (type: NodeType): number | undefined => {
  if (type.newer === undefined) return undefined
  const versions = versionsOf(type)
  const inUse = versions.filter(({ deprecated }) => deprecated === undefined)
  return (inUse.at(-1) ?? versions.at(-1))!.version
}
