/**
 * The code that the pages show: programs, which are blocks of TypeScript that import "millrace" and
 * end with a comment that says what they print; and fragments, which are all other blocks. A server
 * never ends, so it is a fragment; `Tutorial.test.ts` starts the one that there is.
 */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { codeOf, pagesOf } from "../../core/test/Markdown.ts"

const repository = resolve(import.meta.dirname, "../../..")

/** The pages with programs, by what they are about. */
export const pages: ReadonlyArray<readonly [string, string]> = [
  ["the repository", "README.md"],
  ["this package", "packages/millrace/README.md"],
  ["tests of workflows", "docs/how-to/test-a-workflow.md"],
  ["several accounts", "docs/how-to/several-accounts.md"],
  ["workflows in code", "docs/how-to/draw-in-code.md"],
  ["transactions", "docs/how-to/start-in-a-transaction.md"],
  ["a first workflow", "docs/tutorials/in-your-app.md"],
  ["the way to production", "docs/tutorials/to-production.md"],
  ["pinned outputs", "docs/how-to/start-with-outputs.md"],
  ["errors", "docs/how-to/errors-and-retries.md"],
  ["credits", "docs/how-to/charge-credits.md"],
  ["order among runs", "docs/how-to/order-runs.md"],
]

/** The programs of a page, named by its path from the root of the repository. */
export const samplesOf = (page: string): ReadonlyArray<string> =>
  [...readFileSync(resolve(repository, page), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)]
    .map((match) => match[1] ?? "")
    .filter((code) => code.includes('from "millrace"') && !code.includes(".listen("))

/** What the comment at the end of a program says will be printed. */
export const promised = (code: string): string =>
  /\/\/ (.*)\s*$/.exec(code)?.[1] ?? "no such comment"

const isTyped = (language: string): boolean => /^(?:ts|tsx|js)$/.test(language)

/** What a fragment may use without saying where it comes from. */
const implied: Readonly<Record<string, string>> = {
  createClient: 'import { createClient } from "millrace"',
  createEngine: 'import { createEngine } from "millrace"',
  defineNode: 'import { defineNode } from "millrace"',
  engine: 'import type { Engine } from "millrace"\ndeclare const engine: Engine',
  Effect: 'import { Effect } from "effect"',
  Layer: 'import { Layer } from "effect"',
  NodeError: 'import { NodeError } from "millrace"',
  pglite: 'import { pglite } from "millrace"',
  postgres: 'import { postgres } from "millrace"',
  Redacted: 'import { Redacted } from "effect"',
  sqlite: 'import { sqlite } from "millrace"',
  z: 'import { z } from "zod"',
}

const isMissing = (code: string, name: string): boolean => {
  const imports = [...code.matchAll(/^import\s([^"]*)from/gm)].map(([, names]) => names).join()
  const isNamed = new RegExp(`\\b${name}\\b`)
  const isDeclared = new RegExp(`\\b(?:const|let|using|function) (?:[[{][^=]*)?${name}\\b`)
  return (
    isNamed.test(code.replaceAll(/"[^"\n]*"|\/\/.*/g, "")) &&
    !isNamed.test(imports) &&
    !isDeclared.test(code)
  )
}

/** A fragment with the imports that it implies. */
const completed = (code: string): string =>
  [
    ...Object.entries(implied).flatMap(([name, line]) => (isMissing(code, name) ? [line] : [])),
    code,
    "export {}\n",
  ].join("\n")

/** Every fragment of every page, by the name of its file. */
export const fragments = (): ReadonlyMap<string, string> => {
  const shown = pagesOf().filter(({ path }) => !path.includes("/test/"))
  const programs = new Set(pages.flatMap(([, path]) => samplesOf(path)))
  return new Map(
    shown.flatMap((page) =>
      codeOf(page)
        .filter(({ code, language }) => isTyped(language) && !programs.has(code))
        .map(({ code, language, line }) => {
          const kind = language === "tsx" ? "tsx" : "ts"
          const name = page.path.replaceAll("/", "__").replace(".md", "")
          return [`fragment-${name}-${line}.${kind}`, completed(code)] as const
        }),
    ),
  )
}

/** A fragment may use what its page has not declared, and may leave unused what it declares. */
const forgiven =
  /\/fragment-.* error TS(?:2304|2552|18004|6133|6198|7006|7031|2307: Cannot find module '\.)/

/** The compiler's errors, without what fragments leave out. */
export const mistakes = (printed: string): ReadonlyArray<string> =>
  printed.split("\n").filter((line) => /error TS/.test(line) && !forgiven.test(line))
