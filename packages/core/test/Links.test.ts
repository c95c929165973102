/**
 * Nobody who follows a link of a page of the repository ends nowhere: the file is there, and so is
 * the heading. The same holds for pages that code and other pages name without a link.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { anchorsOf, linksOf, pagesOf } from "./Markdown.ts"
import { everything, root } from "./Sources.ts"

const pages = pagesOf()
const anchors = new Map(pages.map((page) => [page.path, anchorsOf(page)]))

describe("The pages", () => {
  it("link to files that are there, and to headings that they have", () => {
    const links = pages.flatMap((page) => linksOf(page).map((link) => ({ ...link, page })))
    expect(links.length).toBeGreaterThan(250)
    const broken = links.filter(({ anchor, path }) =>
      anchor === undefined ? !existsSync(join(root, path)) : !anchors.get(path)?.includes(anchor),
    )
    expect(broken.map(({ page, written }) => `${page.path}: ${written}`)).toEqual([])
  })

  it("that code and pages name without a link are there", () => {
    const named = [...pages, ...everything].flatMap(({ path, text }) =>
      Array.from(text.matchAll(/`(docs\/[\w./-]*)`/g), ([, name = ""]) => ({ path, name })),
    )
    expect(named.length).toBeGreaterThan(20)
    // What a build makes is not there in a fresh clone.
    const missing = named.filter(
      ({ name }) => !name.includes("/dist/") && !existsSync(join(root, name)),
    )
    expect(missing.map(({ name, path }) => `${path}: ${name}`)).toEqual([])
  })

  it("under docs can be reached from the entry, docs/README.md", () => {
    const reached = new Set(["docs/README.md"])
    for (const path of reached) {
      const page = pages.find((each) => each.path === path)
      for (const link of page === undefined ? [] : linksOf(page)) {
        const file = [link.path, `${link.path}/README.md`].find((each) => anchors.has(each))
        if (file !== undefined) reached.add(file)
      }
    }
    const documents = pages.map(({ path }) => path).filter((path) => path.startsWith("docs/"))
    expect(documents.filter((path) => !reached.has(path))).toEqual([])
  })
})
