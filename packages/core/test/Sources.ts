/**
 * The sources of the repository as text, and what can be read from text: imports and their places.
 *
 * Guarantees that nothing is passed over: every folder is walked except those that tools write, and
 * a comment is blanked in place, so that lines and columns stay true. Leaves out: what the code
 * means, and every rule; the architecture test holds those.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { dirname, join, posix, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../../..", import.meta.url))

/** One file of code. */
export interface Source {
  /** From the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
  /** The text with every comment blanked, each character at its place. */
  readonly code: string
}

/** One import, export-from or dynamic import. */
export interface Import {
  readonly from: Source
  readonly line: number
  readonly specifier: string
}

/** The part of a package.json that the rules look at. */
export interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const isCode = /\.[cm]?[jt]sx?$/
const writtenByTools = new Set(["node_modules", "dist", ".millrace", ".next", "next-env.d.ts"])

const walk = (folder: string): ReadonlyArray<string> =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
        if (writtenByTools.has(entry.name)) return []
        const path = join(folder, entry.name)
        return entry.isDirectory() ? walk(path) : [path]
      })
    : []

const escape = String.raw`\\.`
const text = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|` + "`(?:\\\\.|[^`\\\\])*`"
const comment = String.raw`\/\/.*|\/\*[^]*?\*\/`
const token = new RegExp([escape, text, comment].join("|"), "g")

const withoutComments = (code: string): string =>
  code.replace(token, (found) => (/^\/[/*]/.test(found) ? found.replace(/\S/g, " ") : found))

/** A source from its path and its text. */
export const sourceOf = (path: string, content: string): Source => ({
  path,
  text: content,
  code: withoutComments(content),
})

const sourcesIn = (...folder: ReadonlyArray<string>): ReadonlyArray<Source> =>
  walk(join(root, ...folder))
    .filter((path) => isCode.test(path))
    .map((path) => relative(root, path).split(sep).join("/"))
    .map((path) => sourceOf(path, readFileSync(join(root, path), "utf8")))

/** The folders of `packages/`. */
export const packageNames: ReadonlyArray<string> = readdirSync(join(root, "packages"))

const inPackages = (folder: string) =>
  packageNames.flatMap((name) => sourcesIn("packages", name, folder))

/** What is published: the folder `src` of every package. */
export const sources = inPackages("src")

/** What tests it: the folder `test` of every package. */
export const tests = inPackages("test")

/** The long tests beside the packages. */
export const suites = sourcesIn("suites")

/** Both, and the code beside the packages. */
export const everything = [
  ...sources,
  ...tests,
  ...["bench", "examples", "scripts"].flatMap((name) => sourcesIn(name)),
]

const lineAt = (content: string, index: number): number =>
  content.slice(0, index).split("\n").length

/** Every match of a pattern, as `path:line says`; in the code, or in the whole text. */
export const offences = (
  among: ReadonlyArray<Source>,
  pattern: RegExp,
  says: (found: string) => string,
  part: "code" | "text" = "code",
): ReadonlyArray<string> =>
  among.flatMap((source) =>
    Array.from(
      source[part].matchAll(pattern),
      (found) => `${source.path}:${lineAt(source.text, found.index)} ${says(found[0])}`,
    ),
  )

const importing = new RegExp(
  [
    String.raw`(?:^[ \t]*(?:import|export)\b[\w\s{},*$]*?\bfrom\s*`,
    String.raw`^[ \t]*import\s*`,
    String.raw`\b(?:import|require)\s*\(\s*)(["'])([^"'\n]+)\1`,
  ].join("|"),
  "gm",
)

/** What a source imports, in the order of the text; types count like values. */
export const importsOf = (source: Source): ReadonlyArray<Import> =>
  Array.from(source.code.matchAll(importing), (found) => ({
    from: source,
    line: lineAt(source.code, found.index + found[0].length),
    specifier: found[2] ?? "",
  }))

/** `packages/core/src/index.ts` -> `core`. */
export const packageOf = (path: string): string => path.split("/")[1] ?? ""

/** `core` -> `@millrace/core`. */
export const nameOf = (folder: string): string =>
  folder === "millrace" ? folder : `@millrace/${folder}`

/** The name of a package in a specifier, without the path behind it. */
export const libraryOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

/** The folder of `packages/` that a specifier names, if it names one. */
export const workspaceOf = (specifier: string): string | undefined =>
  packageNames.find((folder) => nameOf(folder) === libraryOf(specifier))

/** The file that an import means, or `undefined` where it means a package from the registry. */
export const targetOf = ({ from, specifier }: Import): string | undefined => {
  if (specifier.startsWith(".")) return posix.join(dirname(from.path), specifier)
  const folder = workspaceOf(specifier)
  if (folder === undefined) return undefined
  return `packages/${folder}/src/${specifier.slice(nameOf(folder).length + 1) || "index"}.ts`
}

/** An import as the beginning of a sentence. */
export const place = (one: Import): string =>
  `${one.from.path}:${one.line} imports ${one.specifier}`

/** Whether a path from the root names a file. */
export const exists = (path: string): boolean => existsSync(join(root, path))

/** A JSON file, by its path from the root. */
export const readJson = (...path: ReadonlyArray<string>): unknown =>
  JSON.parse(readFileSync(join(root, ...path), "utf8"))

/** The package.json of a folder. */
export const manifestOf = (...folder: ReadonlyArray<string>): Manifest =>
  readJson(...folder, "package.json") as Manifest
