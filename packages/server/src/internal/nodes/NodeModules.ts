/**
 * The node types of the modules that an operator names. They are trusted code: they run in the
 * process of the server.
 *
 * Guarantees: a module that cannot be imported, never finishes, exports no node type, or exports
 * one whose key is taken, is refused in one sentence with its name. Leaves out: watching the files.
 */
import type { NodeType } from "@millrace/core/domain/NodeType"
import { settingsOf } from "@millrace/core/domain/Workflow"
import { exportedTypes } from "@millrace/core/engine/NodeModule"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { withOrigin } from "@millrace/core/engine/NodeTypes"
import type { EngineThreads } from "@millrace/host/Threads"
import { Effect } from "effect"
import { basename, isAbsolute, relative } from "node:path"
import { CommandFailed } from "../../CommandFailed.ts"
import type { ImportedModule, ModuleAddress } from "./ModuleImport.ts"
import { clauseOf, importModule, pathOf, problemOfPath } from "./ModuleImport.ts"
import * as TrialImport from "./TrialImport.ts"

/** A node type of a module. Its handler may run on a thread of the server. */
export type ModuleType = Executable<EngineThreads>

/** The modules with node types, imported. */
export interface NodeModules {
  /** Of all modules, in their order. */
  readonly types: ReadonlyArray<ModuleType>
  /** The paths of the modules' own files. */
  readonly files: ReadonlyArray<string>
}

const refuse = (name: string, clause: string) =>
  new CommandFailed({
    message: `The node types of ${name} cannot be used: ${clause}`,
    reason: "failed",
  })

/** What the catalogue shows of a module: no folder outside of the working folder. */
const originOf = ({ folder, name }: ModuleAddress): string => {
  const path = pathOf({ folder, name })
  if (path === undefined) return name
  const local = relative(folder, path)
  return local.startsWith("..") || isAbsolute(local) ? basename(path) : `./${local}`
}

/** Why a type cannot be shown, as a clause: its own functions throw for a node without settings. */
const problemOfType = ({ key, portsOf }: NodeType): string | undefined => {
  try {
    portsOf(settingsOf({ id: key, type: key, position: { x: 0, y: 0 } }))
    return undefined
  } catch (error) {
    return `the ports of its node type "${key}" cannot be read: ${clauseOf(error)}`
  }
}

const importOf = Effect.fnUntraced(function* (
  address: ModuleAddress,
): Effect.fn.Return<ImportedModule, CommandFailed> {
  const { name } = address
  const problem = problemOfPath(pathOf(address)) ?? (yield* TrialImport.problemOf(address))
  if (problem !== undefined) return yield* refuse(name, problem)
  return yield* Effect.tryPromise({
    try: () => importModule(address),
    catch: (error) => refuse(name, clauseOf(error)),
  })
})

const typesOf = (address: ModuleAddress, { exports }: ImportedModule) => {
  const { hasOtherForm, types } = exportedTypes(exports)
  if (hasOtherForm) {
    const clause = "a node type was made with a version of millrace that does not fit this server"
    return Effect.fail(refuse(address.name, clause))
  }
  if (types.length > 0) {
    return Effect.succeed(types.map(withOrigin(originOf(address))) as ReadonlyArray<ModuleType>)
  }
  const clause = "it exports no node type; export what defineNode or NodeDefinition.define returns"
  return Effect.fail(refuse(address.name, clause))
}

/**
 * Imports modules, in this order. `builtin` are the types whose keys are taken. An `edition` above
 * 0 imports the files once more.
 */
export const load = Effect.fnUntraced(function* (
  names: ReadonlyArray<string>,
  builtin: ReadonlyArray<NodeType>,
  folder: string,
  edition: number,
): Effect.fn.Return<NodeModules, CommandFailed> {
  const owners = new Map(builtin.map(({ key }) => [key, "a built-in type"]))
  const types: Array<ModuleType> = []
  const files: Array<string> = []
  for (const name of names) {
    const address = { name, folder, edition }
    const imported = yield* importOf(address)
    files.push(...imported.files)
    for (const executable of yield* typesOf(address, imported)) {
      const { key, version } = executable.type
      const owner = owners.get(key)
      const isSame = ({ type }: ModuleType) => type.key === key && type.version === version
      if (owner === name && types.some(isSame)) {
        const what = `the key "${key}" and the version ${version}`
        return yield* refuse(name, `it exports two node types with ${what}`)
      }
      if (owner !== undefined && owner !== name) {
        return yield* refuse(name, `the key of its node type "${key}" is taken by ${owner}`)
      }
      const problem = problemOfType(executable.type)
      if (problem !== undefined) return yield* refuse(name, problem)
      owners.set(key, name)
      types.push(executable)
    }
  }
  return { types, files }
})
