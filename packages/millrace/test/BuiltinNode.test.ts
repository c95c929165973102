/**
 * The types of the built-in nodes are those of the catalogue.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { written } from "./BuiltinSource.ts"

/** Without what the formatter decides. */
const bare = (code: string): string =>
  code
    .replaceAll(/[:<=(]\s*\|/g, (match) => match.slice(0, 1))
    .replaceAll(/[\s;]+/g, " ")
    .replaceAll(/ ?([|<>{}():]) ?/g, "$1")

describe("BuiltinNode", () => {
  it("has the ports and modes of every built-in node type, as BuiltinSource.ts writes them", () => {
    for (const [file, text] of written()) {
      expect(bare(readFileSync(file, "utf8"))).toBe(bare(text))
    }
  })
})
