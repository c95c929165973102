/**
 * The pages of the repository as people read them on the web: headings with their anchors, links,
 * and blocks of code. The site and the tests of links and code read pages through this file.
 *
 * Guarantees: anchors are those that a forge makes of headings; what stands in a block of code, or
 * between backticks, is no link. Leaves out: HTML, and links by reference; no page has one.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"
import { root } from "./Sources.ts"

/** One page. */
export interface Page {
  /** From the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** A link of a page to a place of the repository. */
export interface Link {
  /** As the page writes it. */
  readonly written: string
  /** What it leads to, from the root of the repository. */
  readonly path: string
  /** The anchor there, if it names one. */
  readonly anchor: string | undefined
}

/** A block of code, by the word behind its fence. */
export interface CodeBlock {
  readonly language: string
  readonly code: string
  readonly line: number
}

const isPage = (name: string): boolean => name.endsWith(".md") && name !== "CHANGELOG.md"

const writtenByTools = new Set(["node_modules", "dist"])

const walk = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith(".") || writtenByTools.has(entry.name)) return []
    const path = posix.join(folder, entry.name)
    return entry.isDirectory() ? walk(path) : isPage(entry.name) ? [path] : []
  })

/** Every page, without changesets and changelogs. */
export const pagesOf = (): ReadonlyArray<Page> =>
  walk(".")
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))

const fence = /^(`{3,})([\w-]*)[^\n]*\n([^]*?)^\1[ \t]*$/gm

/** The text with every block of code blanked; lines stay where they are. */
export const withoutCode = (text: string): string =>
  text.replaceAll(fence, (block) => block.replaceAll(/[^\n]/g, ""))

/** The anchor of a heading, if it is the first of its name. */
export const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

/** The title of a page: its first heading. */
export const titleOf = ({ path, text }: Page): string =>
  /^# (.*)$/m.exec(withoutCode(text))?.[1]?.replaceAll("`", "") ?? path

/** All anchors of a page; the second one of a name ends with `-1`. */
export const anchorsOf = ({ text }: Page): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  return Array.from(withoutCode(text).matchAll(/^#{1,6} (.*)$/gm), ([, heading = ""]) => {
    const anchor = anchorOf(heading)
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

/** Where the target of a link stands between its parentheses. */
export const linkPattern = /\]\(([^()\s]+)\)/g

/** What a link leads to; `undefined` if it leads out of the repository. */
export const targetOf = (path: string, written: string): Link | undefined => {
  if (/^[a-z]+:/.test(written)) return undefined
  const [file = "", anchor] = written.split("#")
  const target = file === "" ? path : posix.join(posix.dirname(path), file)
  return { written, path: target.replace(/\/$/, ""), anchor }
}

/** The links of a page to places of the repository. */
export const linksOf = ({ path, text }: Page): ReadonlyArray<Link> =>
  Array.from(
    withoutCode(text)
      .replaceAll(/`[^`\n]+`/g, "`code`")
      .matchAll(linkPattern),
    ([, written = ""]) => targetOf(path, written) ?? [],
  ).flat()

/** The blocks of code of a page. */
export const codeOf = ({ text }: Page): ReadonlyArray<CodeBlock> =>
  Array.from(text.matchAll(fence), ({ 2: language = "", 3: code = "", index }) => ({
    language,
    code,
    line: text.slice(0, index).split("\n").length,
  }))
