/**
 * Node types as the graph sees them: which ports a node has, what a literal must look like, what a
 * node is expected to cost. A type's handler is the engine's; this is what can be said about a
 * type without executing it.
 */
import type { MicroCredits } from "./Credits.ts"
import { isAmount } from "./Credits.ts"
import type { Json, JsonObject } from "./Json.ts"
import type { TypePolicy } from "./NodePolicy.ts"
import type { NodeSettings } from "./Workflow.ts"

/** The port an edge means when its `sourceHandle` is absent or empty. */
export const defaultOutput = "output"

/** The port an edge means when its `targetHandle` is absent or empty. */
export const defaultInput = "input"

/** The reserved output port on which a handled failure leaves a node. */
export const errorOutput = "error"

/** A named input of a node. */
export interface InputPort {
  readonly name: string
  /** True when a node cannot execute without a value here: no default, not optional. */
  readonly required: boolean
  /** True when several edges may end here; the value is then an array in the order of the edges. */
  readonly multiple: boolean
  /** JSON Schema of the value, for people and for forms. */
  readonly schema: JsonObject
  /** Every reason why a value does not fit, as clauses without a path; empty when it fits. */
  readonly check: (value: Json) => ReadonlyArray<string>
  /**
   * Of a port whose type fills in what stands in `{{ }}` of a literal: every reason why a start
   * refuses one that `check` has nothing against, as such clauses. Absent: nothing is filled in,
   * and a start refuses every text with `{{`. Runs that have begun, values and overrides are not
   * asked about.
   */
  readonly problemsOfLiteral?: (literal: Json) => ReadonlyArray<string>
}

/** A named output of a node. */
export interface OutputPort {
  readonly name: string
  /** JSON Schema of the value, for people. */
  readonly schema: JsonObject
}

/** The ports of one node, after its mode and its literals apply. Iteration is declaration order. */
export interface Ports {
  readonly inputs: ReadonlyMap<string, InputPort>
  readonly outputs: ReadonlyMap<string, OutputPort>
}

/** What can be said about a node type without executing it. */
export interface NodeType {
  /** What a node's `type` says: `http_request`. */
  readonly key: string
  /** Moves when a change would alter what existing nodes do; from 1. */
  readonly version: number
  /** A title for people. */
  readonly name: string
  readonly description: string
  /** Where a palette shows it: `flow`, `data`, `network`, or the author's own word. */
  readonly category: string
  /** Names of the modes, the default first; empty for a type without modes. */
  readonly modes: ReadonlyArray<string>
  /** `all`: a node whose in-edges are not all taken is skipped; `any` is the default. */
  readonly join: "any" | "all"
  /**
   * `request`: at most one in a workflow, hands the run's values to the graph. `response`: its
   * input becomes the run's output. `step`: everything else.
   */
  readonly role: "request" | "response" | "step"
  /**
   * What a crash in mid-attempt means. `at-least-once`: the node is attempted again, also where its
   * policy has no attempt left. `at-most-once`: it fails, because its outcome is unknown.
   */
  readonly delivery: "at-least-once" | "at-most-once"
  /** What holds for nodes that say nothing about retries and time. */
  readonly policy: TypePolicy
  /**
   * The ports of a node with these settings. Pure and total: it is asked before the literals have
   * been checked, so it has to put up with any JSON there. Called once per node of a graph.
   */
  readonly portsOf: (settings: NodeSettings) => Ports
  /** What one execution is expected to cost. Pure. */
  readonly estimate: (settings: NodeSettings) => MicroCredits
}

/**
 * What one execution is expected to cost; `undefined` when the type's author gave something that
 * is no amount.
 */
export const estimateOf = (type: NodeType, settings: NodeSettings): MicroCredits | undefined => {
  try {
    const estimate = type.estimate(settings)
    return isAmount(estimate) ? estimate : undefined
  } catch {
    return undefined
  }
}

/** Finds a type by key; `undefined` when this process does not know it. */
export type NodeTypeLookup = (key: string) => NodeType | undefined
