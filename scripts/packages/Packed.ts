/**
 * The packages as npm would publish them, and what must hold of each tarball.
 *
 * Guarantees: nothing is left in the repository. Leaves out: whether a package works, which
 * `Installed.ts` finds out.
 */
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { homedir, hostname } from "node:os"
import { basename, join, matchesGlob, resolve } from "node:path"
import { publint } from "publint"
import { formatMessage } from "publint/utils"

const root = resolve(import.meta.dirname, "../..")

/** The part of a package.json that the rules look at. */
interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly description?: string
  readonly keywords?: ReadonlyArray<string>
  readonly license?: string
  readonly engines?: { readonly node?: string }
  readonly sideEffects?: boolean | ReadonlyArray<string>
  readonly exports: Readonly<Record<string, unknown>>
}

/** A package in a tarball. */
export interface Packed {
  readonly manifest: Manifest
  /** The folder that it was made from. */
  readonly folder: string
  readonly tarball: string
  /** What is in it, from the root of the package. */
  readonly files: ReadonlyArray<string>
}

const foldersOf = (): ReadonlyArray<string> =>
  readdirSync(join(root, "packages")).map((name) => join(root, "packages", name))

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest

interface Made {
  readonly name: string
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string }>
}

/** Packs each package that is published into a folder. */
export const pack = (into: string): ReadonlyArray<Packed> => {
  const published = foldersOf()
    .map((folder) => ({ folder, manifest: manifestOf(folder) }))
    .filter(({ manifest }) => manifest.private !== true)
  const workspaces = published.map(({ manifest }) => `--workspace=${manifest.name}`)
  const options = ["pack", "--json", "--ignore-scripts", `--pack-destination=${into}`]
  const printed = execFileSync("npm", [...options, ...workspaces], { cwd: root, encoding: "utf8" })
  const made = Object.values(JSON.parse(printed) as Readonly<Record<string, Made>>)
  return published.map(({ folder, manifest }) => {
    const { filename, files } = made.find(({ name }) => name === manifest.name)!
    const tarball = join(into, basename(filename))
    return { manifest, folder, tarball, files: files.map(({ path }) => path) }
  })
}

/** The modules that can be imported, as `package/module`, without patterns. */
export const modulesOf = ({ files, manifest }: Packed): ReadonlyArray<string> =>
  Object.keys(manifest.exports).flatMap((key) => {
    const isModule = key !== "./package.json" && !key.endsWith(".css")
    if (!isModule || manifest.exports[key] === null) return []
    if (key !== "./*") return [key]
    return files.flatMap((file) => {
      const [, module] = /^dist\/(.*)\.js$/.exec(file) ?? []
      return module === undefined || module.split("/").includes("internal") ? [] : [`./${module}`]
    })
  })

const isTest = /(^|\/)(test|tests|__tests__)\/|\.(test|spec)\.|\.tsbuildinfo$/
/** Texts that only the machine that built a package knows. */
const ownTexts = [root, homedir(), hostname()].filter((text) => text.length > 5)

const problemsOfFiles = ({ files, folder }: Packed): ReadonlyArray<string> => [
  ...["LICENSE", "README.md"]
    .filter((file) => !files.includes(file))
    .map((file) => `has no ${file}`),
  ...files.flatMap((file) => {
    if (isTest.test(file)) return [`${file} is for tests or tools only`]
    const source = file.replace(/^dist\/(.*?)(\.d\.ts|\.js)$/, "src/$1.ts")
    const isMade = [source, `${source}x`].some((path) => existsSync(join(folder, path)))
    // Bundlers make these: one style sheet of several, and an app, whose folder each build empties.
    const isBundled = file === "dist/style.css" || file.startsWith("dist/app/")
    if (file.startsWith("dist/") && (source === file || !isMade) && !isBundled) {
      return [`${file} belongs to no source: remove dist and build again`]
    }
    const text = readFileSync(join(folder, file), "latin1")
    return ownTexts.filter((own) => text.includes(own)).map((own) => `${file} names ${own}`)
  }),
]

const problemsOfManifest = ({ files, folder, manifest }: Packed): ReadonlyArray<string> => {
  const { description, engines, keywords = [], license, sideEffects } = manifest
  const effects = typeof sideEffects === "object" ? sideEffects : []
  const same =
    readFileSync(join(folder, "LICENSE"), "utf8") === readFileSync(join(root, "LICENSE"), "utf8")
  return [
    ...(description === undefined ? ["has no description"] : []),
    ...(keywords.length < 3 ? ["has fewer than three keywords"] : []),
    ...(license === "MIT" && same ? [] : ["has another license than the repository"]),
    ...(engines?.node === undefined ? ["does not say which Node it needs"] : []),
    ...(sideEffects === undefined ? ["does not say which modules have side effects"] : []),
    ...effects
      .filter((path) => !files.some((file) => matchesGlob(file, path.replace("./", ""))))
      .map((path) => `sideEffects names ${path}, which is not there`),
  ]
}

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")

/** A registry shows the README alone: links lead to places in it, or to the web. */
const problemsOfReadme = ({ folder }: Packed): ReadonlyArray<string> => {
  const text = readFileSync(join(folder, "README.md"), "utf8").replace(/^```.*?^```$/gms, "")
  const anchors = Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading]) => anchorOf(heading!))
  return Array.from(text.matchAll(/\]\(([^)]*)\)/g), ([, link]) => link!)
    .filter((link) => !link.startsWith("https://") && !anchors.includes(link.replace("#", "")))
    .map((link) => `README.md links to ${link}, which a registry does not show`)
}

const problemsOfExports = async (packed: Packed): Promise<ReadonlyArray<string>> => {
  const bytes = readFileSync(packed.tarball)
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true })
  // What a pattern stands for is made alike, so one module of it is enough.
  const named = Object.keys(packed.manifest.exports)
  const modules = modulesOf(packed)
  const entrypoints = modules.filter((name) => named.includes(name))
  const one = modules.find((name) => !named.includes(name))
  const types = await checkPackage(createPackageFromTarballData(bytes), {
    entrypoints: one === undefined ? entrypoints : [...entrypoints, one],
  })
  // Nobody can `require` these packages, which is what the other two kinds of resolution are about.
  const wrong = types.types === false ? [{ kind: "no types" }] : types.problems
  return [
    ...messages.map((message) => `publint: ${formatMessage(message, pkg) ?? message.code}`),
    ...wrong
      .filter((each) => {
        const kind = "resolutionKind" in each ? each.resolutionKind : "bundler"
        return kind === "node16-esm" || kind === "bundler"
      })
      .map((each) => `types: ${JSON.stringify(each)}`),
  ]
}

/** What is wrong with a package, one sentence each. */
export const problemsOf = async (packed: Packed): Promise<ReadonlyArray<string>> => {
  const problems = [
    ...problemsOfFiles(packed),
    ...problemsOfManifest(packed),
    ...problemsOfReadme(packed),
    ...(await problemsOfExports(packed)),
  ]
  return problems.map((problem) => `${packed.manifest.name}: ${problem}`)
}
