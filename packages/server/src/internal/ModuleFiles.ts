/**
 * Finds the files of modules with less work than Node, so that a server starts sooner.
 *
 * For each import, Node looks for the file, its real path and the `package.json` that names its
 * format. A server has 4,000 imports of 800 modules. Nearly all are imports by modules of Effect
 * and of this project, where the answer follows from earlier ones: a relative import means the file
 * of that name, and `effect/Queue` lies beside `effect/Array`.
 *
 * Guarantees: Node decides where a package is. It also decides about every import that another
 * package makes, and about files that are not where others of their package are. Leaves out:
 * `require`, and the imports of threads.
 */
import { existsSync } from "node:fs"
import type { ResolveFnOutput, ResolveHookSync } from "node:module"
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"

/** Where the packages of this project are side by side, in a checkout and once installed. */
const beside = new URL("../../../", import.meta.url).href

/** A file of a package whose modules all have one format, and the package's own folder. */
const inPackage = /^(.*\/node_modules\/(?:effect|@effect\/[^/]+|@millrace\/[^/]+)\/)(?:dist|src)\//
const inCheckout = /^([^/]+\/)(?:dist|src)\//

const isThere = (url: string): boolean => existsSync(fileURLToPath(url))

/** The folder of the package that a file belongs to; `undefined` if it is none of these. */
const packageOf = (url: string): string | undefined => {
  const folder = inPackage.exec(url)?.[1]
  if (folder !== undefined || !url.startsWith(beside)) return folder
  const name = inCheckout.exec(url.slice(beside.length))?.[1]
  return name === undefined ? undefined : beside + name
}

const fileAt = (url: string): ResolveFnOutput => ({
  url,
  format: url.endsWith(".ts") ? "module-typescript" : "module",
  shortCircuit: true,
})

const extensionOf = (url: string): string => url.slice(url.lastIndexOf("."))

/** `@scope/name/part/of/it`, in two. */
const bare = /^((?:@[^/]+\/)?[^/]+)(?:\/(.+))?$/

/** A hook that remembers where packages are. */
export const hook = (): ResolveHookSync => {
  /** By the folder of a package: the folder in which Node begins to look for what it imports. */
  const origins = new Map<string, string>()
  const originOf = (folder: string): string => {
    const known = origins.get(folder)
    if (known !== undefined) return known
    const around = new URL(folder.includes("/node_modules/@") ? "../../" : "../", folder).href
    const origin = isThere(`${folder}node_modules`) ? folder : around
    origins.set(folder, origin)
    return origin
  }
  const found = new Map<string, ResolveFnOutput>()
  /** What stands before and after the part in the address of a package's file. */
  const places = new Map<string, readonly [before: string, after: string]>()

  const learn = (name: string, part: string, { url }: ResolveFnOutput): void => {
    const after = extensionOf(url)
    const isUsual = packageOf(url) !== undefined && /^\.[jt]s$/.test(after)
    if (!isUsual || !url.endsWith(`/${part}${after}`)) return
    places.set(name, [url.slice(0, -(part.length + after.length)), after])
  }

  return (specifier, context, next) => {
    const { conditions, importAttributes, parentURL } = context
    const folder = parentURL === undefined ? undefined : packageOf(parentURL)
    const isPlain = conditions.includes("import") && Object.keys(importAttributes).length === 0
    if (parentURL === undefined || folder === undefined || !isPlain || specifier.includes(":")) {
      return next(specifier, context)
    }
    if (specifier.startsWith(".")) {
      const isAlike = specifier.endsWith(extensionOf(parentURL))
      return isAlike ? fileAt(new URL(specifier, parentURL).href) : next(specifier, context)
    }
    const key = `${originOf(folder)} ${specifier}`
    const known = found.get(key)
    if (known !== undefined) return known
    const [, name = "", part = ""] = bare.exec(specifier) ?? []
    const [before, after] = places.get(`${originOf(folder)} ${name}`) ?? []
    const likely = before === undefined || part === "" ? "" : `${before}${part}${after}`
    const isLikely = likely !== "" && isThere(likely)
    const answer = isLikely ? fileAt(likely) : { ...next(specifier, context), shortCircuit: true }
    if (!isLikely && part !== "") learn(`${originOf(folder)} ${name}`, part, answer)
    found.set(key, answer)
    return answer
  }
}

/** Uses the hook for all that this thread imports from now on. */
export const begin = (): void => {
  registerHooks({ resolve: hook() })
}
