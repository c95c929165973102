/**
 * The reference of the front door: a page for each entry point of `millrace`, which TypeDoc writes
 * from the comments and types of the sources. `docs/site/typedoc.json` has its settings.
 *
 * Leaves out: installing TypeDoc, which is among the tools of the site, with a TypeScript of its
 * own.
 */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync } from "node:fs"
import { join, posix } from "node:path"
import { root } from "../../packages/core/test/Sources.ts"
import type { SitePage } from "./Stage.ts"

const site = join(root, "docs/site")

/** The pages by what TypeDoc calls them, without the number that it may add to a name. */
const entries: Readonly<Record<string, readonly [file: string, title: string]>> = {
  "packages/millrace/src.md": ["reference/types/millrace.md", "`millrace`"],
  "packages/millrace/src/Client.md": ["reference/types/client.md", "`millrace/client`"],
  "packages/millrace/src/Testing.md": ["reference/types/testing.md", "`millrace/testing`"],
}

const entryOf = (written: string) => entries[written.replace(/-\d+\.md$/, ".md")]

const pageOf = (written: string): SitePage | undefined => {
  const entry = entryOf(written)
  if (entry === undefined) return undefined
  const [file, title] = entry
  const text = readFileSync(join(site, "dist/typedoc", written), "utf8")
    // The site shows tags as text.
    .replaceAll(/<a id="[^"]*"><\/a> ?/g, "")
    .replaceAll(/\]\(([^()#\s]+\.md)/g, (whole, link: string) => {
      const target = entryOf(posix.join(posix.dirname(written), link))
      return target === undefined ? whole : `](${posix.relative(posix.dirname(file), target[0])}`
    })
  return { file, title, text: `# ${title}\n\n${text}` }
}

/** The pages, from the sources as they are. */
export const typePages = (): ReadonlyArray<SitePage> => {
  rmSync(join(site, "dist/typedoc"), { recursive: true, force: true })
  const { status } = spawnSync(process.execPath, ["node_modules/typedoc/bin/typedoc"], {
    cwd: site,
    stdio: "inherit",
  })
  if (status !== 0) throw new Error("TypeDoc could not write the reference of the front door")
  const written = readdirSync(join(site, "dist/typedoc"), { recursive: true, encoding: "utf8" })
  const pages = written.map(pageOf).filter((page) => page !== undefined)
  if (pages.length !== Object.keys(entries).length)
    throw new Error(`TypeDoc wrote other pages than expected: ${written.join(", ")}`)
  return pages.toSorted((a, b) => a.title.length - b.title.length)
}
