/**
 * The programs that the pages show: blocks of TypeScript that import from "millrace" and end with a
 * comment that says what they print.
 */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

const repository = resolve(import.meta.dirname, "../../..")

/** The pages with programs, by what they are about. */
export const pages: ReadonlyArray<readonly [string, string]> = [
  ["the repository", "README.md"],
  ["this package", "packages/millrace/README.md"],
  ["tests of workflows", "docs/how-to/test-a-workflow.md"],
  ["several accounts", "docs/how-to/several-accounts.md"],
  ["workflows in code", "docs/how-to/draw-in-code.md"],
  ["transactions", "docs/how-to/start-in-a-transaction.md"],
]

/** The programs of a page, named by its path from the root of the repository. */
export const samplesOf = (page: string): ReadonlyArray<string> =>
  [...readFileSync(resolve(repository, page), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)]
    .map((match) => match[1] ?? "")
    .filter((code) => code.includes('from "millrace"'))

/** What the comment at the end of a program says will be printed. */
export const promised = (code: string): string =>
  /\/\/ (.*)\s*$/.exec(code)?.[1] ?? "no such comment"
