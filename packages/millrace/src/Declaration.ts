/**
 * What a declaration of a node type says, and what its handler is called with. Types only: they
 * carry what the schemas of the ports know to the handler's author.
 */
import type { Duration } from "effect"
import type { Drawn, PortSchemas, Read, Written } from "./Port.ts"

/** What a handler finds at its inputs, by port. */
export type Inputs<I extends PortSchemas> = { readonly [P in keyof I]: Read<I[P]> }

/** Literal inputs of a node as a workflow holds them, by port. */
export type Literals<I extends PortSchemas> = { readonly [P in keyof I]?: Drawn<I[P]> }

type OptionalKeys<O extends PortSchemas> = {
  [P in keyof O]: undefined extends Written<O[P]> ? P : never
}[keyof O]

/** What a handler returns, by port. A port whose schema accepts `undefined` may be left out. */
export type Outputs<O extends PortSchemas> = {
  readonly [P in Exclude<keyof O, OptionalKeys<O>>]: Written<O[P]>
} & { readonly [P in OptionalKeys<O>]?: Written<O[P]> }

/** A type without an output that must be there may return nothing. */
type Returned<O extends PortSchemas> = [Exclude<keyof O, OptionalKeys<O>>] extends [never]
  ? Outputs<O> | void
  : Outputs<O>

/** Writes into the log of the node run. `data` is kept when it is JSON. */
export interface NodeLog {
  debug(message: string, data?: unknown): void
  info(message: string, data?: unknown): void
  warn(message: string, data?: unknown): void
  error(message: string, data?: unknown): void
}

/** What a handler is called with. */
export interface NodeContext<I extends PortSchemas, M extends string> {
  readonly inputs: Inputs<I>
  /** The mode in force; the empty string for a type without modes. */
  readonly mode: M
  readonly runId: string
  readonly nodeId: string
  /** From 1. */
  readonly attempt: number
  /**
   * Aborted on a timeout, and when the run is canceled or the engine closes: hand it on to `fetch`
   * and the like.
   */
  readonly signal: AbortSignal
  /** The same on every attempt: hand it to whatever must not happen twice. */
  readonly idempotencyKey: string
  readonly log: NodeLog
  /** Adds to what this node run costs, in credits. Replaces the estimate once called. */
  readonly credits: { add(amount: number): void }
}

/** A length of time: milliseconds, or text such as `10 seconds`. */
export type Time = Duration.Input

/** How often a node is attempted, and how long it waits in between. */
export interface Retry {
  /** Attempts in all, from 1. */
  readonly attempts: number
  /** The wait after the first attempt; 1 second where nothing is said. */
  readonly initial?: Time
  /** By how much each wait is longer than the one before; 2 where nothing is said. */
  readonly factor?: number
  /** No wait is longer; 1 minute where nothing is said. */
  readonly max?: Time
  /** How far a wait may be off, as a part of it; 0.1 where nothing is said. */
  readonly jitter?: number
}

/** What {@link defineNode} needs to know. Only `type`, `inputs`, `outputs` and `run` are needed. */
export interface NodeOptions<
  T extends string,
  I extends PortSchemas,
  O extends PortSchemas,
  M extends string,
> {
  /** What a node's `type` says. */
  readonly type: T
  /** Moves when a change would alter what existing nodes do; from 1. */
  readonly version?: number
  /** A title for people. */
  readonly title?: string
  readonly description?: string
  /** Where a palette shows it: `flow`, `data`, `network`, or your own word. */
  readonly category?: string
  readonly inputs: I
  readonly outputs: O
  /** Inputs into which several edges may lead; their schema is an array's. */
  readonly multiple?: ReadonlyArray<keyof I & string>
  /**
   * Inputs whose texts may hold `{{`, because the handler fills in what stands there; in literals
   * of all other inputs a start refuses it.
   */
  readonly templates?: ReadonlyArray<keyof I & string>
  /** The default mode first. */
  readonly modes?: ReadonlyArray<M>
  /** Expected cost of one execution in credits. A function sees literals, not what edges bring. */
  readonly credits?: number | ((node: { readonly inputs: Literals<I>; readonly mode: M }) => number)
  /** For nodes that say nothing about it themselves; without it a node is attempted once. */
  readonly retry?: Retry
  /** How long one attempt may take, for nodes that say nothing about it themselves. */
  readonly timeout?: Time
  /**
   * What a crash in mid-attempt means: another attempt (`at-least-once`, the default), or a failure
   * because nobody knows the outcome (`at-most-once`).
   */
  readonly delivery?: "at-least-once" | "at-most-once"
  /**
   * For a handler that computes for long: `import.meta.url` of the module that exports this node
   * type, a `file:` URL. No two attempts share a thread at the same time. The thread imports the
   * module once more, so put the type into a module that does nothing else when it is imported;
   * `createEngine` is refused there. What one attempt leaves in the module's variables the next one
   * may find. Inputs, outputs and log data are copied. A timeout or a canceled run ends the thread
   * at once (`signal` is never aborted); a crash of the thread fails the attempt. The thread has no
   * `MILLRACE_*`, `DATABASE_URL` or `PGPASSWORD` in its environment, but it is no sandbox.
   * `limits.threadsAtOnce` bounds the threads of an engine, `limits.megabytesPerThread` the memory
   * of each. The time for which an attempt waits for a thread counts towards its timeout.
   */
  readonly blocking?: string
  /**
   * The handler. A throw fails the node with the error's message. An optional output that is left
   * out was not taken: what only it leads to is skipped.
   */
  readonly run: (context: NodeContext<I, M>) => Returned<O> | Promise<Returned<O>>
}
