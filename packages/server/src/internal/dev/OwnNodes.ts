/**
 * The node types of `millrace dev`: the built-in ones, and those of modules, which are imported
 * again when their files change.
 *
 * Guarantees: a module that cannot be used changes nothing and is reported. A run in progress goes
 * on with the types that it was started with. Leaves out: packages that a module imports; a new
 * version of those needs a restart.
 */
import type { NodeType } from "@millrace/core/domain/NodeType"
import { NodeTypes, NodeTypeSet } from "@millrace/core/engine/NodeTypes"
import type { Egress } from "@millrace/egress/Egress"
import * as Threads from "@millrace/host/Threads"
import * as Builtin from "@millrace/nodes/Builtin"
import type { Scope } from "effect"
import { Console, Effect, Layer, Queue } from "effect"
import type { FSWatcher } from "node:fs"
import { watch } from "node:fs"
import { dirname } from "node:path"
import type { CommandFailed } from "../../CommandFailed.ts"
import type { ModuleType, NodeModules } from "../nodes/NodeModules.ts"
import * as Modules from "../nodes/NodeModules.ts"

/** How long to wait for further changes, because an editor may write several files. */
const quietMillis = 100

/** Node types that follow the files of their modules. */
export interface OwnNodes {
  readonly layer: Layer.Layer<NodeTypes, never, Egress>
  /** The types at the start. */
  readonly types: ReadonlyArray<NodeType>
  /** Reports and applies every change of the files, until it is interrupted. */
  readonly following: Effect.Effect<never, never, Scope.Scope>
}

const builtinTypes = Builtin.builtin.map(({ type }) => type)

const load = (names: ReadonlyArray<string>, edition: number) =>
  Modules.load(names, builtinTypes, process.cwd(), edition)

/** Calls `onChange` when a file in the folder of one of these files changes. */
const watchFiles = (files: ReadonlyArray<string>, onChange: () => void): ReadonlyArray<FSWatcher> =>
  [...new Set(files.map((file) => dirname(file)))].map((folder) =>
    watch(folder, { persistent: false }, (_, name) => {
      if (name === null || /\.(?:[cm]?[jt]s|json)$/.test(name)) onChange()
      // A folder that was removed has no further changes.
    }).on("error", () => undefined),
  )

/** Waits until there was a change, and none after it for a moment. */
const settledChange = Effect.fnUntraced(function* (changes: Queue.Dequeue<void>) {
  yield* Queue.take(changes)
  do yield* Effect.sleep(quietMillis)
  while ((yield* Queue.clear(changes)).length > 0)
})

const namesOf = (types: ReadonlyArray<ModuleType>): string =>
  types.map(({ type }) => `${type.key} (${type.origin})`).join(", ")

const following = Effect.fnUntraced(function* (
  names: ReadonlyArray<string>,
  first: NodeModules,
  apply: (types: ReadonlyArray<ModuleType>) => void,
) {
  const changes = yield* Queue.sliding<void>(1)
  const onChange = () => void Queue.offerUnsafe(changes, undefined)
  let watchers = watchFiles(first.files, onChange)
  const close = () => watchers.forEach((watcher) => watcher.close())
  yield* Effect.addFinalizer(() => Effect.sync(close))
  const reload = Effect.fnUntraced(function* (edition: number) {
    const { files, types } = yield* load(names, edition)
    close()
    watchers = watchFiles(files, onChange)
    apply(types)
    yield* Console.log(`  Node types loaded again: ${namesOf(types)}`)
  })
  for (let edition = 1; ; edition += 1) {
    yield* settledChange(changes)
    yield* Effect.catch(reload(edition), ({ message }) =>
      Console.error(`${message}; the types loaded before stay in force`),
    )
  }
})

/** Imports the modules for the first time. Fails if one of them cannot be used. */
export const open = Effect.fnUntraced(function* (
  names: ReadonlyArray<string>,
): Effect.fn.Return<OwnNodes, CommandFailed> {
  const first = yield* load(names, 0)
  const set = new NodeTypeSet([...Builtin.builtin, ...first.types])
  const layer = Layer.provide(NodeTypes.layerOf(set), [Threads.layer, Builtin.layerServices])
  const apply = (types: ReadonlyArray<ModuleType>) => set.replace([...Builtin.builtin, ...types])
  return {
    layer,
    types: [...set.types.values()],
    following: names.length === 0 ? Effect.never : following(names, first, apply),
  }
})
