import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { needed, problemOf } from "../src/internal/NodeVersion.ts"

describe("NodeVersion.problemOf", () => {
  it("says which Node is needed, and which this one is", () => {
    const problem = "Millrace needs Node 22.19 or newer, and this is Node 20.20.2"
    assert.strictEqual(problemOf("20.20.2"), problem)
    for (const old of ["18.0.0", "22.2.0", "22.18.9"]) assert.isDefined(problemOf(old))
    for (const good of ["22.19.0", "22.20.1", "24.0.0", "26.1.0"])
      assert.isUndefined(problemOf(good))
  })

  it("is what every package says in its engines", () => {
    const packages = new URL("../../", import.meta.url)
    for (const name of readdirSync(packages)) {
      const text = readFileSync(new URL(`${name}/package.json`, packages), "utf8")
      const { engines } = JSON.parse(text) as { readonly engines: { readonly node: string } }
      assert.strictEqual(engines.node, `>=${needed}`, name)
    }
  })
})
