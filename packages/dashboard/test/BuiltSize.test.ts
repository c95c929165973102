/**
 * How large the built app is.
 */
import { buildIfOutdated, folder } from "@millrace/dashboard"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { beforeAll, describe, expect, it } from "vitest"

beforeAll(() => buildIfOutdated())

const read = (name: string) => readFileSync(join(folder, "assets", name))

/** Sizes in kB, as they are sent. */
const sum = (names: Iterable<string>) =>
  [...names].reduce((total, name) => total + gzipSync(read(name)).length / 1_000, 0)

const namesIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, name]) => name!)

/** A script, and all that is loaded with it. */
const loadedWith = (names: ReadonlyArray<string>, all = new Set<string>()) => {
  for (const name of names.filter((each) => !all.has(each))) {
    all.add(name)
    loadedWith(namesIn(read(name).toString(), /(?:from|import)\s*"\.\/([\w.-]+\.js)"/g), all)
  }
  return all
}

describe("what is loaded", () => {
  const page = () => readFileSync(join(folder, "index.html"), "utf8")
  const first = () => loadedWith(namesIn(page(), /assets\/([\w.-]+\.js)/g))

  it("is at most 130 kB of script for the first page, 12 kB of style, and 500 kB in all", () => {
    expect(first().size).toBeGreaterThan(0)
    expect(sum(first())).toBeLessThan(130)
    const styles = namesIn(page(), /assets\/([\w.-]+\.css)/g)
    expect(styles.length).toBeGreaterThan(0)
    expect(sum(styles)).toBeLessThan(12)
    expect(sum(readdirSync(join(folder, "assets")))).toBeLessThan(500)
  })

  it("is at most 95 kB of script more for the canvas", () => {
    const isCanvas = (name: string) => name.endsWith(".js") && read(name).includes("react-flow__")
    const canvas = readdirSync(join(folder, "assets")).filter(isCanvas)
    const [largest = ""] = canvas.toSorted((a, b) => read(b).length - read(a).length)
    const known = first()
    const more = [...loadedWith([largest])].filter((name) => !known.has(name))
    expect(sum(more)).toBeGreaterThan(50)
    expect(sum(more)).toBeLessThan(95)
  })
})
