/**
 * Tables and texts of the generated pages of reference.
 */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"

/** The folder of the repository. */
export const root = resolve(import.meta.dirname, "../../../..")

/** A page of reference. */
export interface ReferencePage {
  /** From the root of the repository. */
  readonly path: string
  readonly text: string
}

/** What stands under the title of every generated page. */
export const generated =
  "A script writes this page from the code: `npm run docs:reference -- --write`."

/** A text as it may stand in a cell. */
export const cell = (text: string): string =>
  text
    .replaceAll("|", String.raw`\|`)
    .replaceAll(/\s+/g, " ")
    .trim()

/** A table; the cells are Markdown. */
export const table = (
  titles: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
): string => {
  const line = (cells: ReadonlyArray<string>) => `| ${cells.map(cell).join(" | ")} |`
  return [line(titles), line(titles.map(() => "---")), ...rows.map(line)].join("\n")
}

const columns = 105

/** A paragraph in lines; tables, headings and code stay as they are. */
const wrapped = (part: string): string =>
  /^[|#`]/.test(part) && !/^`\w/.test(part)
    ? part
    : part.split(" ").reduce((lines, word) => {
        const last = lines.slice(lines.lastIndexOf("\n") + 1)
        return `${lines}${last.length + word.length < columns ? " " : "\n"}${word}`
      })

/** A page of a title and parts. */
export const pageOf = (
  name: string,
  title: string,
  ...parts: ReadonlyArray<string>
): ReferencePage => ({
  path: `docs/reference/${name}.md`,
  text: `${[`# ${title}`, generated, ...parts].map(wrapped).join("\n\n")}\n`,
})

/** A source of the repository. */
export const sourceText = (path: string): string => readFileSync(join(root, path), "utf8")

/** The sentences of a comment, without its stars. */
export const plainComment = (comment: string): string =>
  comment
    .replaceAll(/^\s*\/?\*+\/?/gm, "")
    .replaceAll(/\*\/\s*$/g, "")
    .replaceAll(/\{@link (\w+)\}/g, "`$1`")
    .replaceAll(/\s*\(specification[^)]*\)/g, "")
    .replaceAll(/\s+/g, " ")
    .trim()
