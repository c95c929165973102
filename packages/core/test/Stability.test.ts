/**
 * What is said about stability: of every entry point of every published package, in
 * docs/stability.md, and in a sentence of the package's README.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { nameOf, packageNames, readJson, root } from "./Sources.ts"

/** The part of a package.json that says what can be imported. */
interface Exporting {
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, unknown>>
}

const published = packageNames.filter(
  (folder) => (readJson("packages", folder, "package.json") as Exporting).private !== true,
)

const entryPointsOf = (folder: string): ReadonlyArray<string> => {
  const { exports = {} } = readJson("packages", folder, "package.json") as Exporting
  return Object.entries(exports)
    .filter(([path, target]) => target !== null && path !== "./package.json")
    .map(([path]) => nameOf(folder) + path.slice(1))
}

const page = readFileSync(join(root, "docs", "stability.md"), "utf8")

const said = new Map(
  Array.from(page.matchAll(/^\| `([^`]+)` \| (stable|unstable) \| \S/gm), ([, path, level]) => [
    path!,
    level!,
  ]),
)

describe("docs/stability.md", () => {
  it("says of every entry point whether it is stable, and of nothing else", () => {
    const all = published.flatMap(entryPointsOf)
    expect([...said.keys()].toSorted()).toEqual(all.toSorted())
  })

  it("is repeated by the README of every package", () => {
    const silent = published.filter((folder) => {
      const levels = new Set(entryPointsOf(folder).map((path) => said.get(path)))
      const readme = readFileSync(join(root, "packages", folder, "README.md"), "utf8")
      const [level] = levels
      return levels.size !== 1 || !readme.includes(`This package is ${level}:`)
    })
    expect(silent).toEqual([])
  })
})
