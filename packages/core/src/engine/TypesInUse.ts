/**
 * Which versions of node types this process has, and which ones are in use: what operators look at
 * before they take one away.
 *
 * Leaves out: ended runs, whose reruns need their versions, too.
 */
import { Context, Effect, Layer } from "effect"
import type { NodeType } from "../domain/NodeType.ts"
import { versionsOf } from "../domain/NodeType.ts"
import type { TypeUse } from "../domain/TypeUse.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { NodeTypes } from "./NodeTypes.ts"

/** A version of a node type, and where nodes of it are. */
export interface TypeInUse extends TypeUse {
  /** The type, if this process has it in this version. */
  readonly known: NodeType | undefined
}

const unused = { drafts: 0, published: 0, openRuns: 0, workflows: [] }

const nameOf = ({ type, version }: Pick<TypeUse, "type" | "version">): string =>
  JSON.stringify([type, version])

const compare = (one: TypeUse, other: TypeUse): number =>
  one.type === other.type
    ? (one.version ?? 0) - (other.version ?? 0)
    : one.type < other.type
      ? -1
      : 1

export class TypesInUse extends Context.Service<
  TypesInUse,
  {
    /** All versions that this process has or that are in use, by type, the oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<TypeInUse>, StorageError>
  }
>()("@millrace/core/engine/TypesInUse") {
  static readonly layer: Layer.Layer<TypesInUse, never, RunStore | NodeTypes> = Layer.effect(
    TypesInUse,
    Effect.gen(function* () {
      const runs = yield* RunStore
      const { all } = yield* NodeTypes
      return TypesInUse.of({
        list: Effect.gen(function* () {
          const types = all()
          const oldest = Object.fromEntries([...types].map(([key, { version }]) => [key, version]))
          const used = yield* runs.typesInUse(oldest)
          const known = new Map(
            [...types.values()].flatMap(versionsOf).map((type) => {
              const { key, version } = type
              return [nameOf({ type: key, version }), type]
            }),
          )
          const found = used.map((use) => ({ ...use, known: known.get(nameOf(use)) }))
          for (const use of found) known.delete(nameOf(use))
          const left = [...known.values()].map((type) => {
            return { type: type.key, version: type.version, ...unused, known: type }
          })
          return [...found, ...left].toSorted(compare)
        }),
      })
    }),
  )
}
