/**
 * `npm run docs` builds the site of the documentation into `docs/site/dist/site`: the pages of the
 * repository and the reference of the front door, with a search that works offline, `llms.txt`,
 * which lists the pages for language models, and `llms-full.txt`, which holds them. `-- --serve`
 * shows the site on this machine.
 *
 * The first time it installs VitePress and TypeDoc beside the site, which needs the registry.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { root } from "../../packages/core/test/Sources.ts"
import { typePages } from "./TypePages.ts"
import { shelves, sitePages } from "./Stage.ts"

const site = join(root, "docs/site")
const folder = join(site, "dist")
const vitepress = join(site, "node_modules/vitepress/bin/vitepress.js")

const run = (command: string, ...args: ReadonlyArray<string>): void => {
  const { status } = spawnSync(command, args, { cwd: site, stdio: "inherit" })
  if (status !== 0) process.exit(status ?? 1)
}

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

if (!existsSync(vitepress)) run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")

const reference = typePages()
const pages = [...sitePages(), ...reference]
for (const part of ["pages", "site"]) rmSync(join(folder, part), { recursive: true, force: true })
for (const { file, text } of pages) write(join(folder, "pages", file), text)
cpSync(join(root, "docs/pictures"), join(folder, "pages/pictures"), { recursive: true })
const items = reference.map(({ file, title }) => ({
  text: title.replaceAll("`", ""),
  link: `/${file.replace(/\.md$/, "")}`,
}))
const sidebar = shelves().map((shelf) =>
  shelf.text === "Reference" ? { ...shelf, items: [...shelf.items, ...items] } : shelf,
)
write(join(folder, "sidebar.json"), JSON.stringify(sidebar, null, 2))
run(process.execPath, vitepress, "build")

// Pages are there as Markdown, too; the entry, which lists them, is `llms.txt`.
cpSync(join(folder, "pages"), join(folder, "site"), { recursive: true })
const entry = pages.find(({ file }) => file === "index.md")?.text ?? ""
const summary = "> An embeddable workflow engine for Node: graphs are data, runs are durable.\n"
write(join(folder, "site/llms.txt"), entry.replace(/^# .*\n/, `# Millrace\n\n${summary}`))
const full = pages
  .filter(({ file }) => !/^(?:decisions|files|reference\/types)\//.test(file))
  .map(({ file, text }) => `<!-- ${file} -->\n\n${text}`)
write(join(folder, "site/llms-full.txt"), full.join("\n"))
console.log(`${pages.length} pages in ${join(folder, "site")}`)

if (process.argv.includes("--serve")) run(process.execPath, vitepress, "preview")
