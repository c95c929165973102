/**
 * What the compiler knows of a node that is drawn in code: its literals, ports, modes and options,
 * by its type, and the edges that may join it.
 *
 * Guarantees: where something is wrong, the names that the compiler expects are few: those of the
 * same node, or the ones that look like it. Leaves out: engines whose node types the compiler does
 * not know by name.
 */
import type { Duration } from "@millrace/api/Duration"
import type { Position } from "@millrace/core/domain/Workflow"
import type { BuiltinNodes } from "./internal/BuiltinNode.ts"
import type { NodeType } from "./Node.ts"
import type { Drawn, Sent } from "./Port.ts"
import type { Expression, PartTemplate, JsonName, Meets, Template } from "./internal/PortType.ts"

/** The built-in node types. An engine with `builtin: false` does not have them. */
export type BuiltinType = keyof BuiltinNodes

/** Node types of an engine. */
export type Types = ReadonlyArray<NodeType>

/** The node type with this name. */
type Named<N extends Types, T> = Extract<N[number], HasName<T>>

interface HasName<T> {
  /** The name of the type. */
  readonly type: T
}

type PortTypes = { readonly [port: string]: unknown }

/** A node type as the builder knows it. */
interface Shape {
  readonly inputs: PortTypes
  readonly outputs: PortTypes
  readonly modes: string
  readonly raw: string
  readonly multiple: string
}

type ShapeOf<D extends NodeType> = {
  readonly inputs: { readonly [P in keyof D["inputs"]]: Drawn<D["inputs"][P]> }
  readonly outputs: { readonly [P in keyof D["outputs"]]: Sent<D["outputs"][P]> }
  readonly modes: Exclude<D["modes"][number], "">
  readonly raw: D["raw"][number]
  readonly multiple: D["multiple"][number]
}

type ShapeNamed<N extends Types, T> = [Named<N, T>] extends [never]
  ? T extends BuiltinType
    ? BuiltinNodes[T]
    : Shape
  : ShapeOf<Named<N, T>>

/** The names that look like a text: those that begin like it or contain it; else all. */
type Like<All extends string, Text extends string> = [Similar<All, Text>] extends [never]
  ? All
  : Similar<All, Text>

type Similar<All extends string, Text extends string> = Text extends `${infer First}${string}`
  ? Extract<All, `${First}${string}` | `${string}${Text}${string}`>
  : never

/** `Wide` where the compiler does not know the node types by name; else `Known`. */
type IfWide<N extends Types, Wide, Known> = string extends N[number]["type"] ? Wide : Known

/** The type of a node, or what may have been meant by it. */
export type TypeName<N extends Types, T extends string> = T extends N[number]["type"] | BuiltinType
  ? T
  : Like<N[number]["type"] | BuiltinType, NoInfer<T>>

/** An entry of a list whose `name` is an output of its node. */
type NamedEntry<E, P extends string> = {
  readonly [K in keyof E]: K extends "name" ? P : E[K]
}

type EntryOf<T extends "request" | "switch"> = T extends "request"
  ? BuiltinNodes["request"]["inputs"]["fields"][number]
  : PartTemplate<BuiltinNodes["switch"]["inputs"]["cases"][number]>

type LiteralOf<S extends Shape, P extends keyof S["inputs"]> = string extends S["raw"]
  ? S["inputs"][P]
  : P extends S["raw"]
    ? S["inputs"][P]
    : Template<S["inputs"][P]>

/**
 * The literals of a node, by input. `P` are the outputs that they name. Written out, because the
 * compiler shows the name of an alias in the place of what it stands for.
 */
export type NodeLiterals<N extends Types, T, P extends string> = string extends N[number]["type"]
  ? PortTypes
  : [Named<N, T>] extends [never]
    ? T extends "request"
      ? { readonly fields?: ReadonlyArray<NamedEntry<EntryOf<"request">, P>> }
      : T extends "switch"
        ? {
            readonly input?: unknown
            readonly cases?: ReadonlyArray<NamedEntry<EntryOf<"switch">, P>> | Expression
          }
        : {
            readonly [K in keyof ShapeNamed<N, T>["inputs"]]?: LiteralOf<ShapeNamed<N, T>, K>
          } & CalledFields<T>
    : { readonly [K in keyof ShapeNamed<N, T>["inputs"]]?: LiteralOf<ShapeNamed<N, T>, K> }

/** Fields of the workflow that a node calls are inputs, too; the compiler does not know them. */
type CalledFields<T> = T extends "sub_workflow" ? { readonly [field: string]: unknown } : {}

/** The outputs that the literals of a node name. */
type OwnOutputs<N extends Types, T, P extends string> = [Named<N, T>] extends [never]
  ? T extends "request" | "switch"
    ? P
    : never
  : never

/** What leaves a node by `error`, where its type has no such output: why it failed. */
interface Failure {
  readonly message: string
  readonly nodeId: string
  readonly attempt: number
}

type ErrorOutput<S extends Shape> = "error" extends keyof S["outputs"]
  ? unknown
  : { readonly [K in keyof Failure]: Failure[K] }

/** What the nodes in the body of a loop see of it, by port. */
type BodyOf<N extends Types, T> = [Named<N, T>] extends [never]
  ? T extends BuiltinType
    ? BuiltinNodes[T] extends { readonly body: infer Body }
      ? Body
      : {}
    : {}
  : {}

/** The outputs of a node, written `node.port`, with the types of their values. */
export type OutputsAt<N extends Types, Id extends string, T, P extends string> = {
  readonly [K in keyof ShapeNamed<N, T>["outputs"] & string as `${Id}.${K}`]: ShapeNamed<
    N,
    T
  >["outputs"][K]
} & { readonly [K in OwnOutputs<N, T, P> as `${Id}.${K}`]: unknown } & {
  readonly [K in `${Id}.error`]: ErrorOutput<ShapeNamed<N, T>>
} & {
  readonly [K in keyof BodyOf<N, T> & string as `${Id}.${K}`]: BodyOf<N, T>[K]
}

/** What one edge brings to an input. */
type Arriving<S extends Shape, K extends keyof S["inputs"]> = string extends S["multiple"]
  ? unknown
  : K extends S["multiple"]
    ? S["inputs"][K] extends ReadonlyArray<infer Item>
      ? Item
      : unknown
    : S["inputs"][K]

/** The inputs of a node, written `node.port`, with the types of their values. */
export type InputsAt<N extends Types, Id extends string, T> = {
  readonly [K in keyof ShapeNamed<N, T>["inputs"] & string as `${Id}.${K}`]: Arriving<
    ShapeNamed<N, T>,
    K
  >
} & ([Named<N, T>] extends [never]
  ? T extends "sub_workflow"
    ? { readonly [K in `${Id}.${string}`]: unknown }
    : {}
  : {})

type NodeOf<End extends string> = End extends `${infer Node}.${string}` ? Node : End

/** The ends that may have been meant: those of the same node, else those that look like it. */
type MeantBy<All extends string, End extends string> = [
  Extract<All, `${NodeOf<End>}.${string}`>,
] extends [never]
  ? Like<All, End>
  : Extract<All, `${NodeOf<End>}.${string}`>

/** The start of an edge, or what may have been meant by it. */
export type EdgeStart<N extends Types, O extends object, From extends string> =
  From extends IfWide<N, string, keyof O> ? From : MeantBy<keyof O & string, NoInfer<From>>

type Fitting<I extends object, Value> = keyof {
  [K in keyof I & string as Meets<Value, I[K]> extends true ? K : never]: true
}

/** What may have been meant by an end that does not fit. For one that exists, it says why. */
type MeantEnd<
  O,
  I,
  From extends keyof O & string,
  To extends string,
  Fit extends string,
> = To extends keyof I & string
  ?
      | Extract<Fit, `${NodeOf<To>}.${string}`>
      | `${From} gives ${JsonName<O[From]>}, ${To} takes ${JsonName<I[To]>}`
  : MeantBy<Fit, To>

/**
 * A node with expressions has an `input` for them, whatever its type. Whether it has any is for a
 * start to say.
 */
type Implied<O, I, To> = To extends keyof I
  ? never
  : To extends `${infer Node}.input`
    ? `${Node}.error` extends keyof O
      ? To
      : never
    : never

/** The end of an edge, or what may have been meant by it. */
export type EdgeEnd<
  N extends Types,
  O extends object,
  I extends object,
  From extends string,
  To extends string,
> =
  To extends IfWide<
    N,
    string,
    From extends keyof O ? Fitting<I, O[From]> | Implied<O, I, To> : string
  >
    ? To
    : From extends keyof O & string
      ? MeantEnd<O, I, From, NoInfer<To>, Fitting<I, O[From]>>
      : never

/** How often a node is attempted, and how long it waits in between. */
export interface NodeRetry {
  /** Attempts in all, from 1. */
  readonly attempts?: number
  /** The wait after the first attempt; 1 second by default. */
  readonly initial?: Duration
  /** Each wait is so many times as long as the one before; 2 by default. */
  readonly factor?: number
  /** The longest wait; 1 minute by default. */
  readonly max?: Duration
  /** By which fraction a wait is randomly longer or shorter at most; 0.1 by default. */
  readonly jitter?: number
}

/**
 * The place of a node. Without a position, it goes one column to the right of the last. The nodes
 * of a loop's body are placed among themselves, and count from the place of the loop.
 */
export interface NodePlacing {
  /** In pixels; wins over `column` and `row`. */
  readonly position?: Position
  /** From 1; column 0 is the request node's. In a loop's body from 0. */
  readonly column?: number
  /** From 0. */
  readonly row?: number
  /** The id of the loop in whose body it lies. */
  readonly parentId?: string
}

/** What a node has beside its literals. */
export interface NodeData extends NodePlacing {
  /** A name for people. */
  readonly label?: string
  /** True: the node does nothing, and passes `input` to `output`. */
  readonly disabled?: boolean
  /** The version of its type; the oldest one by default. A run is refused if there is none. */
  readonly version?: number
  /** How often it is tried; in the place of what its type says, else once. */
  readonly retry?: NodeRetry
  /** How long one attempt may take; in the place of what its type says. */
  readonly timeout?: Duration
  /**
   * What follows when the last attempt fails. `fail`, the default: the node is FAILED. `route`: the
   * error leaves by the output `error`; an edge from there means this by itself. `default`: the
   * node has the outputs of `default` instead.
   */
  readonly onError?: "fail" | "route" | "default"
}

type ModeOption<S extends Shape> = [S["modes"]] extends [never]
  ? {}
  : {
      /** One of the modes of its type; the first one by default. */
      readonly mode?: S["modes"]
    }

/** {@link NodeData} of a node of any type. */
export interface AnyData extends NodeData {
  readonly mode?: string
  readonly default?: PortTypes
}

/** {@link NodeData} with what depends on the type of the node. */
export type NodeDataOf<N extends Types, T> = string extends N[number]["type"]
  ? AnyData
  : NodeData &
      ModeOption<ShapeNamed<N, T>> & {
        /** With `onError: "default"`: the outputs that the node has when it fails. */
        readonly default?: {
          readonly [P in keyof ShapeNamed<N, T>["outputs"]]?: Template<
            ShapeNamed<N, T>["outputs"][P]
          >
        }
      }
