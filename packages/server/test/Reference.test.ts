/**
 * The pages of reference say what the code has: settings, limits, errors, events, node types and
 * the command line. `npm run docs:reference -- --write` writes them anew.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { referencePages, root } from "./reference/Reference.ts"

const pages = await referencePages()

describe("The generated reference", () => {
  it.each(pages)("$path is what the code has", ({ path, text }) => {
    const file = join(root, path)
    expect(existsSync(file) ? readFileSync(file, "utf8") : "").toBe(text)
  })
})
