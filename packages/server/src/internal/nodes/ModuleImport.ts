/**
 * Imports the module that an operator names, from a file or from a package.
 *
 * Guarantees: a name means what it means in the working folder, as if a file there imported it. A
 * later edition imports the module and the files that it is made of once more, so they are as they
 * are on disk now. Leaves out: packages that the module imports; they are imported once.
 */
import { spawnSync } from "node:child_process"
import { existsSync, statSync } from "node:fs"
import { registerHooks } from "node:module"
import { isAbsolute, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

/** Which module to import. */
export interface ModuleAddress {
  /** As the operator gave it: a path, or the name of a package. */
  readonly name: string
  /** The working folder. */
  readonly folder: string
  /** From 0; a higher number imports the module again. */
  readonly edition: number
}

/** A module that was imported. */
export interface ImportedModule {
  readonly exports: object
  /** The paths of its own files, without those of packages. */
  readonly files: ReadonlyArray<string>
}

/** The path that a name means; `undefined` for the name of a package. */
export const pathOf = ({ folder, name }: Omit<ModuleAddress, "edition">): string | undefined => {
  const path = name.startsWith("file:") ? fileURLToPath(name) : resolve(folder, name)
  return /^(?:\.|file:)/.test(name) || isAbsolute(name) || existsSync(path) ? path : undefined
}

/** Why a file cannot be a module, as a clause; `undefined` if it can, or is no file. */
export const problemOfPath = (path: string | undefined): string | undefined => {
  if (path === undefined) return undefined
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return "there is no such file"
  return found.isDirectory() ? "it is a folder; name its file, such as ./nodes/index.js" : undefined
}

const specifierOf = (address: ModuleAddress): string => {
  const path = pathOf(address)
  return path === undefined ? address.name : pathToFileURL(path).href
}

/** True for what a file of the module writes for another file of it, and not for a package. */
const isLocal = (specifier: string): boolean => /^(?:\.|\/|#|file:)/.test(specifier)

/** What the import is called until the hook below says which file it is. */
const ticket = "millrace-nodes:"

/** Imports the module, and adds its own files to `files`. Rejects with what it throws. */
export const importModule = async (
  address: ModuleAddress,
  files = new Set<string>(),
): Promise<ImportedModule> => {
  const { edition, folder, name } = address
  const first = `${ticket}${name}?${edition}`
  const parentURL = pathToFileURL(join(folder, "millrace.config.js")).href
  const own = (url: string): string => {
    const addressed = edition === 0 ? url : `${url}?edition=${edition}`
    files.add(addressed)
    return addressed
  }
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === first) {
        const found = next(specifierOf(address), { ...context, parentURL })
        return { ...found, url: own(found.url) }
      }
      const found = next(specifier, context)
      const isOwn = files.has(context.parentURL ?? "") && isLocal(specifier)
      return isOwn && found.url.startsWith("file:") ? { ...found, url: own(found.url) } : found
    },
  })
  try {
    const exports = (await import(first)) as object
    return { exports, files: Array.from(files, (url) => fileURLToPath(url)) }
  } finally {
    hooks.deregister()
  }
}

/** What was thrown, as one clause. */
export const clauseOf = (error: unknown): string =>
  error instanceof Error ? (error.message || error.name).split("\n")[0]! : String(error)

/** The place of a mistake in a file that Node cannot parse: `/path/of/it.js:12`. */
const placeOfMistake = (path: string): string | undefined => {
  const { status, stderr } = spawnSync(process.execPath, ["--check", path], { encoding: "utf8" })
  return status === 0 ? undefined : /^(?:file:\/\/)?(\/.+:\d+)$/m.exec(stderr)?.[1]
}

/**
 * Why the module cannot be imported, as a clause; `undefined` if it can. For a mistake in a file
 * that cannot be parsed, its place: an error does not have it.
 */
export const problemOfImport = async (address: ModuleAddress): Promise<string | undefined> => {
  const urls = new Set<string>()
  try {
    await importModule(address, urls)
    return undefined
  } catch (error) {
    const clause = clauseOf(error)
    if (!(error instanceof SyntaxError)) return clause
    for (const url of urls) {
      const place = placeOfMistake(fileURLToPath(url))
      if (place !== undefined) return `${clause} (${place})`
    }
    return clause
  }
}
