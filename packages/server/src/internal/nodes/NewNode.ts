/**
 * The files of a new node type: the type, its test, and the module that exports it.
 *
 * Guarantees: a file that is there is never written over. Leaves out: installing packages.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

/** Where a new node type goes. */
export interface NewNode {
  /** The type's key: `text.shout`. */
  readonly name: string
  /** The folder of the modules, from the working folder. */
  readonly folder: string
}

/** The files of a new node type, from the working folder. */
export interface WrittenFiles {
  readonly type: string
  readonly test: string
  readonly index: string
}

/** What the key of a new type may be: it is the name of its file, too. */
const key = /^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$/

/** Why no type can have this name, as a sentence; `undefined` if one can. */
export const problemOfName = (name: string): string | undefined =>
  key.test(name) && name.length <= 60
    ? undefined
    : `"${name}" is no name of a node type: expected words such as text.shout, of a-z and 0-9, ` +
      "60 characters at most"

/** `text.shout` as a name in code: `textShout`. */
const variableOf = (name: string): string =>
  name.replace(/[._-](.)/g, (_, letter: string) => letter.toUpperCase())

/** The text of a file of this package's folder `template`, with these words replaced. */
const textOf = (file: string, words: Readonly<Record<string, string>>): string => {
  const text = readFileSync(new URL(`../../../template/${file}.txt`, import.meta.url), "utf8")
  return text.replace(/\b(?:NAME|VARIABLE|MODULE)\b/g, (word) => words[word]!)
}

/** The folder and those around it, the innermost first. */
const foldersAround = (folder: string): ReadonlyArray<string> =>
  dirname(folder) === folder ? [folder] : [folder, ...foldersAround(dirname(folder))]

/** Without `"type": "module"`, only the ending says that a file has imports. */
const endingIn = (folder: string): string => {
  const manifests = foldersAround(folder).map((each) => join(each, "package.json"))
  const path = manifests.find((each) => existsSync(each))
  if (path === undefined) return "mjs"
  const { type } = JSON.parse(readFileSync(path, "utf8")) as { readonly type?: string }
  return type === "module" ? "js" : "mjs"
}

/** Writes the files. If one of them is there already, writes nothing and returns a sentence. */
export const write = ({ folder, name }: NewNode, workingFolder: string): WrittenFiles | string => {
  const root = join(workingFolder, folder)
  const ending = endingIn(root)
  const module = `${name}.${ending}`
  const [type, test, index] = [module, `${name}.test.${ending}`, `index.${ending}`].map((file) =>
    join(root, file),
  ) as [string, string, string]
  const shown = (path: string) => relative(workingFolder, path)
  const taken = [type, test].find((path) => existsSync(path))
  if (taken !== undefined) return `${shown(taken)} is there already`
  mkdirSync(root, { recursive: true })
  const words = { NAME: name, VARIABLE: variableOf(name), MODULE: module }
  writeFileSync(type, textOf("type", words), { flag: "wx" })
  writeFileSync(test, textOf("test", words), { flag: "wx" })
  writeFileSync(index, `export * from "./${module}"\n`, { flag: "a" })
  return { type: shown(type), test: shown(test), index: shown(index) }
}

/** Which of the packages that the files import are not installed. */
export const missingPackages = (folder: string): ReadonlyArray<string> =>
  ["millrace", "zod"].filter(
    (name) => !foldersAround(folder).some((each) => existsSync(join(each, "node_modules", name))),
  )
