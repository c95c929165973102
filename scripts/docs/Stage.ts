/**
 * The pages of the repository as those of a site: which pages there are, where each one is, and
 * what their links lead to there. The entry, `docs/README.md`, is the table of contents.
 *
 * Guarantees: a link of the repository is one of the site; a file of code that a page links to
 * becomes a page, and a picture stays one. Leaves out: how a page looks.
 */
import { existsSync, readFileSync, statSync } from "node:fs"
import { join, posix } from "node:path"
import type { Page } from "../../packages/core/test/Markdown.ts"
import {
  linkPattern,
  linksOf,
  pagesOf,
  targetOf,
  titleOf,
} from "../../packages/core/test/Markdown.ts"
import { root } from "../../packages/core/test/Sources.ts"

/** A page of the site. */
export interface SitePage {
  /** Its file from the root of the site, such as `how-to/mount.md`. */
  readonly file: string
  readonly title: string
  readonly text: string
}

/** A group of the table of contents, as the sidebar takes it. */
export interface Shelf {
  readonly text: string
  readonly collapsed: boolean
  readonly items: ReadonlyArray<{ readonly text: string; readonly link: string }>
}

const entry = "docs/README.md"

/** Whether a file is shown as it is: such files are in `docs/pictures`. */
const isPicture = (path: string): boolean => path.startsWith("docs/pictures/")

/** Where a file of the repository is on the site. */
const fileOf = (path: string): string => {
  if (path === entry) return "index.md"
  if (path === "README.md") return "introduction.md"
  if (isPicture(path)) return path.replace(/^docs\//, "")
  if (!path.endsWith(".md")) return `files/${path.replaceAll(".", "-")}.md`
  return path
    .replace(/^docs\//, "")
    .replace(/^((?:packages|examples)\/[^/]+)\/README\.md$/, "$1.md")
    .replace(/README\.md$/, "index.md")
}

const isDirectory = (path: string): boolean => statSync(join(root, path)).isDirectory()

/** The page that a link leads to: of a folder, its README. */
const pageOf = (path: string): string =>
  isDirectory(path) && existsSync(join(root, path, "README.md")) ? `${path}/README.md` : path

/** The text with `change` applied to what is neither a block of code nor between backticks. */
const changeProse = (text: string, change: (prose: string) => string): string =>
  text
    .split(/(^(`{3,})[^]*?^\2[ \t]*$)/gm)
    .filter((_, index) => index % 3 !== 2)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .split(/(`[^`\n]+`)/)
            .map((each, place) => (place % 2 === 1 ? each : change(each)))
            .join(""),
    )
    .join("")

const relative = (from: string, to: string): string => posix.relative(posix.dirname(from), to)

/** The text with the links of the site. */
const linked = ({ path, text }: Page): string => {
  const from = fileOf(path)
  const withLinks = changeProse(text, (prose) =>
    prose.replaceAll(/<!--[^]*?-->\n?/g, "").replaceAll(linkPattern, (whole, written: string) => {
      const target = targetOf(path, written)
      if (target === undefined) return whole
      const anchor = target.anchor === undefined ? "" : `#${target.anchor}`
      if (target.path === path) return `](${anchor})`
      return `](${relative(from, fileOf(pageOf(target.path)))}${anchor})`
    }),
  )
  // Pages of packages name those of `docs` without a link, because a registry does not have them.
  return withLinks.replaceAll(/(?<!\[)`(docs\/[\w./-]+\.md)`/g, (whole, name: string) =>
    existsSync(join(root, name)) ? `[${whole}](${relative(from, fileOf(name))})` : whole,
  )
}

const unsearched = "---\nsearch: false\n---\n\n"

/** A file of code, or a folder, as a page, which the search leaves out. */
const asPage = (path: string, pages: ReadonlyArray<Page>): SitePage => {
  const file = fileOf(path)
  if (!isDirectory(path)) {
    const language = /\.(\w+)$/.exec(path)?.[1] ?? "text"
    const code = readFileSync(join(root, path), "utf8")
    const text = `${unsearched}# ${path}\n\n\`\`\`\`${language}\n${code}\`\`\`\`\n`
    return { file, title: path, text }
  }
  const inside = pages
    .filter((page) => page.path.startsWith(`${path}/`))
    .map((page) => `- [${titleOf(page)}](${relative(file, fileOf(page.path))})`)
  return { file, title: path, text: `${unsearched}# ${path}\n\n${inside.join("\n")}\n` }
}

/** Every page of the site, each once. */
export const sitePages = (): ReadonlyArray<SitePage> => {
  const pages = pagesOf()
  const known = new Set(pages.map(({ path }) => path))
  const files = new Set(pages.flatMap(linksOf).map(({ path }) => pageOf(path)))
  return [
    ...pages.map((page) => ({
      file: fileOf(page.path),
      title: titleOf(page),
      text: linked(page),
    })),
    ...[...files]
      .filter((path) => !known.has(path) && !isPicture(path))
      .map((path) => asPage(path, pages)),
  ]
}

/** The table of contents: the shelves of the entry with the links that they have. */
export const shelves = (): ReadonlyArray<Shelf> => {
  const text = readFileSync(join(root, entry), "utf8")
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const title = section.slice(0, section.indexOf("\n"))
      const items = Array.from(
        section.matchAll(/\[([^\]]*)\]\(([^()\s]+)\)/g),
        ([, label = "", written = ""]) => {
          const target = targetOf(entry, written)
          const file = target === undefined ? written : `/${fileOf(pageOf(target.path))}`
          return {
            text: label.replaceAll("`", "").replaceAll(/\s+/g, " "),
            link: file.replace(/(?:index)?\.md$/, ""),
          }
        },
      )
      return { text: title, collapsed: items.length > 12, items }
    })
}
