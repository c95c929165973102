/**
 * How large the built app is.
 */
import { buildIfOutdated, folder } from "@millrace/dashboard"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { beforeAll, describe, expect, it } from "vitest"

beforeAll(() => buildIfOutdated())

describe("what is loaded", () => {
  const sizes = () =>
    new Map(
      readdirSync(join(folder, "assets")).map((name) => [
        name,
        gzipSync(readFileSync(join(folder, "assets", name))).length / 1_000,
      ]),
    )

  const sum = (names: Iterable<string>, all: ReadonlyMap<string, number>) =>
    [...names].reduce((total, name) => total + (all.get(name) ?? 0), 0)

  it("is at most 130 kB of script for the first page, 12 kB of style, and 500 kB in all", () => {
    const all = sizes()
    const page = readFileSync(join(folder, "index.html"), "utf8")
    const first = [...page.matchAll(/assets\/([\w.-]+\.js)/g)].map(([, name]) => name!)
    expect(first.length).toBeGreaterThan(0)
    expect(sum(first, all)).toBeLessThan(130)
    const styles = [...page.matchAll(/assets\/([\w.-]+\.css)/g)].map(([, name]) => name!)
    expect(styles.length).toBeGreaterThan(0)
    expect(sum(styles, all)).toBeLessThan(12)
    expect(sum(all.keys(), all)).toBeLessThan(500)
  })
})
