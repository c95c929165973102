/**
 * What docs/architecture.md draws and lists is what the code has: the arrows between packages, the
 * ports with their methods, and the names of files and types.
 *
 * Reads both as text. Leaves out: what the page says of them; people read that.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { Manifest } from "./Sources.ts"
import { root, sources } from "./Sources.ts"

const page = readFileSync(join(root, "docs", "architecture.md"), "utf8")

/** Of each package the packages of the repository that its package.json names. */
const packages = new Map(
  readdirSync(join(root, "packages")).map((folder) => {
    const text = readFileSync(join(root, "packages", folder, "package.json"), "utf8")
    const { dependencies, peerDependencies } = JSON.parse(text) as Manifest
    const named = Object.keys({ ...dependencies, ...peerDependencies })
    const own = named.filter((name) => name.startsWith("@millrace/"))
    return [folder, own.map((name) => name.slice("@millrace/".length))]
  }),
)

/** `a --> b & c` in the drawing, as pairs. */
const drawn = [...page.matchAll(/^ {2}(\w+) (?:-->|-\.->)(?:\|[^|]*\|)? (.+)$/gm)].flatMap(
  ([, from, to]) => to!.split(" & ").map((each) => [from!, each] as const),
)

const reachableFrom = (from: string): ReadonlyArray<string> =>
  drawn.filter(([one]) => one === from).flatMap(([, to]) => [to, ...reachableFrom(to)])

/** The methods of a port, whose service or interface is named like its file. */
const methodsOf = (name: string, code: string): ReadonlyArray<string> => {
  const service = /Context\.Service<\s+\w+,\s+\{(.*?)\n {2}\}\n>/s
  const alone = new RegExp(`^export interface ${name} \\{(.*?)^\\}`, "ms")
  const methods = service.exec(code)?.[1] ?? alone.exec(code)?.[1] ?? ""
  return Array.from(methods.matchAll(/^(?: {2}){1,2}readonly (\w+):/gm), ([, method]) => method!)
}

const ports = sources.flatMap(({ code, path }) => {
  const name = /^packages\/core\/src\/ports\/(\w+)\.ts$/.exec(path)?.[1]
  return name === undefined ? [] : methodsOf(name, code).map((method) => `${name}.${method}`)
})

/** The rows of the table of ports; one without a name goes on with the port before it. */
const listed = () => {
  const table = /\| Port \| Method \|.*?\n\n/s.exec(page)?.[0] ?? ""
  let port = ""
  return [...table.matchAll(/^\| (\w*) ?\| ((?:`\w+`,? ?)+)\|/gm)].flatMap(([, name, methods]) => {
    port = name === "" ? port : name!
    return [...methods!.matchAll(/`(\w+)`/g)].map(([, method]) => `${port}.${method}`)
  })
}

describe("docs/architecture.md", () => {
  it("has at most 300 lines, and names files and types that there are", () => {
    expect(page.trimEnd().split("\n").length).toBeLessThanOrEqual(300)
    const code = sources.map((source) => source.code).join("\n")
    const exists = (name: string) =>
      sources.some(({ path }) => path.endsWith(`/${name}.ts`) || path.endsWith(`/${name}.tsx`)) ||
      new RegExp(`^export (?:class|interface|type|const) ${name}\\b`, "m").test(code)
    const named = Array.from(page.matchAll(/`([A-Z]\w*[a-z]\w*)[^`]*`/g), ([, name]) => name!)
    expect(named.length).toBeGreaterThan(50)
    expect([...new Set(named)].filter((name) => !exists(name))).toEqual([])
  })

  it("draws only arrows that there are, and all that do not follow from others", () => {
    const wrong = drawn.filter(([from, to]) => !packages.get(from)?.includes(to))
    const missing = [...packages].flatMap(([from, all]) => {
      const reachable = reachableFrom(from)
      return all.filter((to) => !reachable.includes(to)).map((to) => `${from} --> ${to}`)
    })
    expect({ wrong, missing }).toEqual({ wrong: [], missing: [] })
  })

  it("lists every package", () => {
    const rows = [...page.matchAll(/^\| `(?:@millrace\/)?(\w+)` \|/gm)].map(([, name]) => name!)
    expect(rows.toSorted()).toEqual([...packages.keys()].toSorted())
  })

  it("lists every method of every port, and no other", () => {
    expect(listed().toSorted()).toEqual(ports.toSorted())
  })
})
