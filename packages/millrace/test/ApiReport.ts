/**
 * The public types of the stable package as one text: for each entry point what it exports, and
 * every declaration of ours that follows from that, each once.
 *
 * Guarantees: the text follows from the sources alone; comments and the order of files do not
 * change it. Leaves out: what libraries declare.
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve } from "node:path"
import { parseSync } from "vite"

const root = resolve(import.meta.dirname, "../../..")

/** Where the accepted text is. */
export const recordedAt = join(root, "api/millrace.d.ts.txt")

/** What docs/stability.md calls stable. */
const entries = {
  millrace: "packages/millrace/src/index.ts",
  "millrace/client": "packages/millrace/src/Client.ts",
  "millrace/testing": "packages/millrace/src/Testing.ts",
}

interface Tree {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

interface Name {
  readonly file: string
  readonly name: string
}

interface Module {
  /** The declarations by name, without comments; a function may have several. */
  readonly declared: Map<string, Array<{ readonly text: string; readonly names: Set<string> }>>
  /** What other modules of ours declare, by the name that it has here. */
  readonly imported: Map<string, Name>
  /** What it exports under which name; `*` for all of another module. */
  readonly exported: Map<string, Name>
  readonly all: Array<string>
}

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && "type" in value

const namesIn = (tree: Tree, found = new Set<string>()): Set<string> => {
  if (tree.type === "Identifier") found.add(String(tree["name"]))
  for (const value of Object.values(tree)) {
    for (const each of Array.isArray(value) ? value : [value])
      if (isTree(each)) namesIn(each, found)
  }
  return found
}

/** The outermost unions of types inside a tree, in their order. */
const unionsIn = (tree: Tree): ReadonlyArray<Tree> =>
  Object.values(tree)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isTree)
    .flatMap((each) => (each.type === "TSUnionType" ? [each] : unionsIn(each)))
    .toSorted((left, right) => left.start - right.start)

/** The text of a tree with the members of unions in order: tsc has them in any order. */
const textOf = (tree: Tree, text: string): string => {
  if (tree.type === "TSUnionType") {
    const members = (tree["types"] as ReadonlyArray<Tree>).map((each) => textOf(each, text))
    return members.toSorted((left, right) => (left < right ? -1 : 1)).join(" | ")
  }
  let shown = ""
  let at = tree.start
  for (const union of unionsIn(tree)) {
    shown += text.slice(at, union.start) + textOf(union, text)
    at = union.end
  }
  return shown + text.slice(at, tree.end)
}

const nameOf = (value: unknown): string => {
  const tree = value as Tree
  return String(tree["name"] ?? tree["value"])
}

/** The declarations of the packages whose types are shown, by tsc. */
const emit = (folder: string): void => {
  const compilerOptions = {
    composite: false,
    emitDeclarationOnly: true,
    noCheck: true,
    removeComments: true,
    rootDir: join(root, "packages"),
    outDir: join(folder, "out"),
    typeRoots: [join(root, "node_modules/@types")],
  }
  const include = ["api", "core", "millrace"].map((name) => join(root, "packages", name, "src"))
  const settings = { extends: join(root, "tsconfig.base.json"), compilerOptions, include }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const compiler = join(root, "node_modules/typescript/bin/tsc")
  const flags = ["-p", folder, "--singleThreaded"]
  execFileSync(process.execPath, [compiler, ...flags], { stdio: "inherit" })
}

/** The file of a module of ours; what libraries have has none. */
const fileOf = (out: string, from: string, specifier: string): string | undefined => {
  const declarations = (path: string) => path.replace(/(\.ts)?$/, ".d.ts")
  if (specifier.startsWith(".")) return declarations(resolve(dirname(from), specifier))
  const [, name, path = "index"] = /^@millrace\/([^/]+)(?:\/(.*))?$/.exec(specifier) ?? []
  return name === undefined ? undefined : declarations(join(out, name, "src", path))
}

const read = (out: string, file: string): Module => {
  const text = readFileSync(file, "utf8")
  const module: Module = { declared: new Map(), imported: new Map(), exported: new Map(), all: [] }
  const declare = (tree: Tree, statement: Tree): void => {
    const inside = (tree["declarations"] as ReadonlyArray<Tree> | undefined) ?? [tree]
    for (const { id } of inside.map((each) => each as Tree & { readonly id: unknown })) {
      const name = nameOf(id)
      const found = module.declared.get(name) ?? []
      const shown = textOf(statement, text)
      module.declared.set(name, [...found, { text: shown, names: namesIn(tree) }])
      if (statement !== tree) module.exported.set(name, { file, name })
    }
  }
  for (const statement of parseSync(file, text).program.body as unknown as ReadonlyArray<Tree>) {
    const source = statement["source"] as Tree | null | undefined
    const target = source ? fileOf(out, file, nameOf(source)) : file
    const specifiers = (statement["specifiers"] as ReadonlyArray<Tree> | undefined) ?? []
    if (statement.type === "ImportDeclaration") {
      for (const each of specifiers) {
        const name = each["imported"] === undefined ? "*" : nameOf(each["imported"])
        if (target !== undefined) module.imported.set(nameOf(each["local"]), { file: target, name })
      }
    } else if (statement.type === "ExportAllDeclaration") {
      if (target !== undefined) module.all.push(target)
    } else if (isTree(statement["declaration"])) {
      declare(statement["declaration"], statement)
    } else if (statement.type === "ExportNamedDeclaration") {
      for (const each of specifiers) {
        const name = nameOf(each["local"])
        const found = source ? target : (module.imported.get(name)?.file ?? file)
        if (found !== undefined)
          module.exported.set(nameOf(each["exported"]), { file: found, name })
      }
    } else if ("id" in statement || "declarations" in statement) {
      declare(statement, statement)
    }
  }
  return module
}

/** The text, as the sources are now. */
export const report = (): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "millrace-api-")))
  try {
    emit(folder)
    const out = join(folder, "out")
    const modules = new Map<string, Module>()
    const moduleOf = (file: string): Module => {
      const module = modules.get(file) ?? read(out, file)
      modules.set(file, module)
      return module
    }
    const exportsOf = (file: string): ReadonlyArray<readonly [string, Name]> => {
      const { all, exported } = moduleOf(file)
      return [...exported, ...all.flatMap(exportsOf)]
    }
    const seen = new Map<string, string>()
    // Ports and engine are unstable, so their types are shown by name only.
    const isShown = (file: string) =>
      /^(millrace|api|core\/src\/domain)\//.test(relative(out, file))
    const visit = ({ file, name }: Name): void => {
      const key = `${relative(out, file).replace("/src/", "/").replace(".d.ts", "")} ${name}`
      if (!isShown(file) || !existsSync(file) || seen.has(key)) return
      const { declared, exported, imported } = moduleOf(file)
      const found = declared.get(name)
      if (found === undefined) {
        const elsewhere = exported.get(name) ?? imported.get(name)
        if (elsewhere !== undefined && elsewhere.file !== file) visit(elsewhere)
        return
      }
      seen.set(key, found.map(({ text }) => text).join("\n"))
      for (const used of new Set(found.flatMap(({ names }) => [...names]))) {
        if (declared.has(used)) visit({ file, name: used })
        const from = imported.get(used)
        if (from !== undefined && from.name !== "*") visit(from)
      }
      for (const [local, { file: whole, name: part }] of imported) {
        if (part !== "*" || !found.some(({ names }) => names.has(local))) continue
        for (const used of found.flatMap(({ names }) => [...names]))
          visit({ file: whole, name: used })
      }
    }
    const lists = Object.entries(entries).map(([entry, path]) => {
      const file = join(out, relative("packages", path).replace(/\.ts$/, ".d.ts"))
      const exported = exportsOf(file)
      for (const [, name] of exported) visit(name)
      const names = [...new Set(exported.map(([name]) => name))].toSorted()
      return `# ${entry}\n\n${names.join("\n")}\n`
    })
    const texts = [...seen].toSorted(([left], [right]) => (left < right ? -1 : 1))
    const declarations = texts.map(([key, text]) => `// ${key}\n${text}\n`)
    return [...lists, "# Declarations\n", ...declarations].join("\n")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
