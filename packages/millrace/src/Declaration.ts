/**
 * The types of a node type's declaration and of its handler's argument. They derive the types of
 * inputs and outputs from the schemas of the ports.
 */
import type { Duration } from "effect"
import type { NodeExample } from "@millrace/core/domain/NodeType"
import type { Drawn, PortSchemas, Read, Written } from "./Port.ts"

/** The input values of a handler, by port. */
export type Inputs<I extends PortSchemas> = { readonly [P in keyof I]: Read<I[P]> }

/** The literals of a node as a workflow holds them, by port. */
export type Literals<I extends PortSchemas> = { readonly [P in keyof I]?: Drawn<I[P]> }

type OptionalKeys<O extends PortSchemas> = {
  [P in keyof O]: undefined extends Written<O[P]> ? P : never
}[keyof O]

/** What a handler returns, by port. A port may be absent if its schema accepts `undefined`. */
export type Outputs<O extends PortSchemas> = {
  readonly [P in Exclude<keyof O, OptionalKeys<O>>]: Written<O[P]>
} & { readonly [P in OptionalKeys<O>]?: Written<O[P]> }

/** A handler may return nothing if all outputs may be absent. */
type Returned<O extends PortSchemas> = [Exclude<keyof O, OptionalKeys<O>>] extends [never]
  ? Outputs<O> | void
  : Outputs<O>

/** Writes into the log of the node run. `data` is kept if it is JSON. */
export interface NodeLog {
  /** For whoever looks for a fault. */
  debug(message: string, data?: unknown): void
  /** What happened. */
  info(message: string, data?: unknown): void
  /** What somebody should look at. */
  warn(message: string, data?: unknown): void
  /** What went wrong. It does not fail the node: throw for that. */
  error(message: string, data?: unknown): void
}

/** The argument of a handler. */
export interface NodeContext<I extends PortSchemas, M extends string> {
  /** The values of the inputs by port, as their schemas have read them. */
  readonly inputs: Inputs<I>
  /** The mode in force; the empty string for a type without modes. */
  readonly mode: M
  /** The run that the node belongs to. */
  readonly runId: string
  /** The node's id in its workflow. */
  readonly nodeId: string
  /** From 1. */
  readonly attempt: number
  /**
   * Aborted on a timeout, when the run is canceled, and when the engine closes. Pass it to `fetch`
   * and to other calls that take a signal.
   */
  readonly signal: AbortSignal
  /** The same on every attempt of the node. Send it with calls that must not take effect twice. */
  readonly idempotencyKey: string
  /** The log of this node run, which `runs.get` and the dashboard show. */
  readonly log: NodeLog
  /** The cost of this node run. */
  readonly credits: {
    /** Adds so many credits. After a call the estimate does not count. */
    add(amount: number): void
  }
}

/** A length of time: milliseconds, or text such as `10 seconds`. */
export type Time = Duration.Input

/** How often a node is attempted, and how long it waits in between. */
export interface Retry {
  /** Attempts in all, from 1. */
  readonly attempts: number
  /** The wait after the first attempt; 1 second by default. */
  readonly initial?: Time
  /** Each wait is so many times as long as the one before; 2 by default. */
  readonly factor?: number
  /** The longest wait; 1 minute by default. */
  readonly max?: Time
  /** By which fraction a wait is randomly longer or shorter at most; 0.1 by default. */
  readonly jitter?: number
}

/** The argument of {@link defineNode}. Only `type`, `inputs`, `outputs` and `run` are required. */
export interface NodeOptions<
  T extends string,
  I extends PortSchemas,
  O extends PortSchemas,
  M extends string,
  R extends keyof I & string = keyof I & string,
  X extends keyof I & string = keyof I & string,
> {
  /** The `type` of nodes of this type. */
  readonly type: T
  /**
   * From 1. Raise it if a change alters what existing nodes do; an engine may have the versions
   * beside each other, and a node that names none has the oldest.
   */
  readonly version?: number
  /**
   * Nobody should add nodes of it any more: true, or a sentence that says what to use in its place.
   * Nodes that are drawn go on as ever.
   */
  readonly deprecated?: boolean | string
  /** A title for people. */
  readonly title?: string
  /** What it does, for people. */
  readonly description?: string
  /** The group in which a palette shows it: `flow`, `data`, `network`, or your own word. */
  readonly category?: string
  /** The name of a picture of [lucide.dev](https://lucide.dev/icons): `credit-card`. */
  readonly icon?: string
  /** More about it, for people who draw: the address of a page, or a text in Markdown. */
  readonly docs?: string
  /** A schema for each input: of zod or any other library with Standard Schema, or of Effect. */
  readonly inputs: I
  /** A schema for each output. One that accepts `undefined` belongs to an optional output. */
  readonly outputs: O
  /** Inputs to which several edges may lead. Their schema is that of an array. */
  readonly multiple?: ReadonlyArray<X>
  /** Inputs whose texts the handler gets as they are drawn: `{{ }}` in them is not computed. */
  readonly raw?: ReadonlyArray<R>
  /**
   * Inputs whose texts may name secrets: `{{ secrets.token }}`. The handler gets the values, and
   * records keep the expressions. Send a value to no other host than it is for: calls that a
   * handler makes by itself are not guarded.
   */
  readonly secrets?: ReadonlyArray<keyof I & string>
  /** The default mode first. */
  readonly modes?: ReadonlyArray<M>
  /** Expected cost of one execution in credits. A function gets literals, not values of edges. */
  readonly credits?: number | ((node: { readonly inputs: Literals<I>; readonly mode: M }) => number)
  /** The retries of nodes whose `data` has none. Without it, such a node has one attempt. */
  readonly retry?: Retry
  /** How long one attempt of a node may take, if the node's `data` does not say it. */
  readonly timeout?: Time
  /**
   * What follows if the process crashes during an attempt: another attempt (`at-least-once`, the
   * default), or a failure of the node, because the outcome is unknown (`at-most-once`).
   */
  readonly delivery?: "at-least-once" | "at-most-once"
  /**
   * `none`: the handler only computes its outputs from its inputs, without a promise. Many such
   * nodes are then stored by one commit, and a run of nothing else by that of its start; until
   * then, there is no run. After a crash the handler is called again with the same inputs. `reads`:
   * it looks at the outside world. `writes`, the default: it changes something there.
   */
  readonly effects?: "none" | "reads" | "writes"
  /** What a node with some inputs puts out, for the catalogue. */
  readonly example?: NodeExample
  /**
   * Runs the attempts on threads, for a handler that computes for long. The value is
   * `import.meta.url` of the module that exports this node type, a `file:` URL.
   *
   * - The thread imports the module once more, so put the type into a module that does nothing else
   *   when it is imported. `createEngine` throws there.
   * - A thread runs one attempt at a time. A later attempt may find what an earlier one has left in
   *   the module's variables. Inputs, outputs and log data are copied.
   * - A timeout or a canceled run ends the thread at once; `signal` is never aborted. A crash of
   *   the thread fails the attempt.
   * - The thread's environment has no `MILLRACE_*`, `DATABASE_URL` or `PGPASSWORD`. The thread is
   *   no sandbox.
   * - `limits.threadsAtOnce` bounds the threads of an engine, `limits.megabytesPerThread` the
   *   memory of each. While an attempt waits for a thread, its timeout runs.
   */
  readonly blocking?: string
  /**
   * The handler. A throw fails the node with the error's message. If an optional output is absent,
   * nodes that only this output leads to are skipped.
   */
  readonly run: (context: NodeContext<I, M>) => Returned<O> | Promise<Returned<O>>
}
