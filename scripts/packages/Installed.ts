/**
 * An application in an empty folder that has installed the packed packages and knows nothing of the
 * repository: what it takes, what it can import, and whether the programs of the pages run there.
 *
 * Leaves out: servers; `scripts/first-start.sh` starts one.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pages, promised, samplesOf } from "../../packages/millrace/test/Samples.ts"
import type { Packed } from "./Packed.ts"
import { modulesOf } from "./Packed.ts"

/** `npm install millrace` adds at most so many megabytes beside `effect`. */
const megabytesAtMost = 28

interface Dependencies {
  readonly dependencies: Readonly<Record<string, string>>
}

const repository = resolve(import.meta.dirname, "../..")

/** The versions that the repository uses. */
const lock = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, { readonly version: string }>>
}
const versionOf = (name: string): string => lock.packages[`node_modules/${name}`]!.version

const install = (
  folder: string,
  names: Dependencies["dependencies"],
  all: ReadonlyArray<Packed>,
) => {
  const ours = all.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`])
  const overrides = Object.fromEntries(ours.filter(([name]) => names[name!] === undefined))
  const manifest = { private: true, type: "module", dependencies: names, overrides }
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2))
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  })
}

/** What a folder takes on the disk, in megabytes. */
const megabytesOf = (path: string): number => {
  const { blocks } = lstatSync(path)
  const inside = lstatSync(path).isDirectory()
    ? readdirSync(path).map((name) => megabytesOf(join(path, name)))
    : []
  return inside.reduce((sum, each) => sum + each, (blocks * 512) / 1_000_000)
}

const run = (folder: string, code: string, env: Readonly<Record<string, string>> = {}) => {
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", code],
    { cwd: folder, encoding: "utf8", env: { ...process.env, NODE_OPTIONS: "", ...env } },
  )
  return status === 0 ? stdout.trim() : `it ended with code ${status}: ${stderr}`
}

const opensPglite = `
  import { createEngine, pglite } from "millrace"
  await createEngine({ store: pglite("flows") }).catch(({ code, message }) =>
    console.log(code + ": " + message))`

const sendsMail = `
  import { createEngine } from "millrace"
  const engine = await createEngine()
  const mail = { host: "smtp.example.com", from: "a@b.example", to: "c@b.example", subject: "A" }
  const drawn = engine.workflow("Mail").node("mail", "email", { ...mail, text: "Hello" })
  const { id: workflowId } = await engine.workflows.create(drawn)
  const run = await engine.runs.start({ workflowId })
  console.log((await run.wait()).error)
  await engine.close()`

/** Installs `millrace` alone; says what it takes, and what is wrong. */
export const installAlone = (
  folder: string,
  all: ReadonlyArray<Packed>,
): { readonly figures: string; readonly problems: ReadonlyArray<string> } => {
  const millrace = all.find(({ manifest }) => manifest.name === "millrace")!
  install(folder, { millrace: `file:${millrace.tarball}` }, all)
  const modules = join(folder, "node_modules")
  const effect = megabytesOf(join(modules, "effect"))
  const added = megabytesOf(modules) - effect
  const millisOf = (name: string) =>
    [1, 2, 3, 4, 5]
      .map(() =>
        Number(
          run(
            folder,
            `const t = performance.now(); await import("${name}")
            console.log(performance.now() - t)`,
          ),
        ),
      )
      .toSorted((left, right) => left - right)[2]!
      .toFixed(0)
  const refusal = run(folder, opensPglite)
  const mail = run(folder, sendsMail)
  const wanted = `npm install @electric-sql/pglite@${versionOf("@electric-sql/pglite")}`
  return {
    figures:
      `millrace adds ${added.toFixed(1)} MB beside effect (${effect.toFixed(1)} MB); ` +
      `import "millrace" takes ${millisOf("millrace")} ms, "effect" ${millisOf("effect")} ms`,
    problems: [
      ...(added > megabytesAtMost ? [`millrace adds ${added} MB, not ${megabytesAtMost}`] : []),
      ...(refusal.startsWith("STORE_UNAVAILABLE: ") && refusal.includes(wanted)
        ? []
        : [`without PGlite, it should be asked for in a sentence, and this came: ${refusal}`]),
      ...(mail.includes(`npm install nodemailer@${versionOf("nodemailer")}`)
        ? []
        : [`without nodemailer, it should be asked for in a sentence, and this came: ${mail}`]),
      ...(existsSync(join(folder, "flows")) ? ["without PGlite, a folder was made for it"] : []),
    ],
  }
}

/** Adds the other packages and what the programs of the pages import. */
export const installAll = (folder: string, all: ReadonlyArray<Packed>): void => {
  const libraries = ["@electric-sql/pglite", "@types/node", "@types/pg", "effect", "pg", "zod"]
  const ours = all.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`])
  const theirs = [...libraries, "typescript", "vitest"].map((name) => [name, versionOf(name)])
  install(folder, Object.fromEntries([...ours, ...theirs]) as Dependencies["dependencies"], all)
}

const specifier = (name: string, module: string) => name + module.slice(1)

/** Which modules of `internal` can be imported, and which entry points cannot. */
export const problemsOfImports = (
  folder: string,
  all: ReadonlyArray<Packed>,
): ReadonlyArray<string> => {
  const open = all.flatMap((packed) =>
    modulesOf(packed)
      .filter((module) => Object.hasOwn(packed.manifest.exports, module))
      .map((module) => specifier(packed.manifest.name, module)),
  )
  const closed = all.flatMap(({ files, manifest }) =>
    files.flatMap((file) => {
      const [, module] = /^dist\/(.*\binternal\/.*)\.js$/.exec(file) ?? []
      return module === undefined ? [] : [`${manifest.name}/${module}`]
    }),
  )
  // The suites of stores can be imported by vitest only.
  const imported = open.filter((name) => name !== "@millrace/conformance")
  const printed = run(
    folder,
    `for (const name of ${JSON.stringify(imported)}) {
      await import(name).catch((error) => console.log(name + ": " + error))
    }
    for (const name of ${JSON.stringify(closed)}) {
      try {
        import.meta.resolve(name)
        console.log(name + " can be imported")
      } catch (error) {
        if (error.code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") console.log(String(error))
      }
    }`,
  )
  if (closed.length === 0) return ["no module of an internal folder was looked at"]
  return printed === "" ? [] : printed.split("\n")
}

/** The least that a project says to the compiler, by how it finds modules. */
const resolutions: Readonly<Record<string, object>> = {
  NodeNext: { module: "NodeNext" },
  bundler: { module: "ESNext", moduleResolution: "bundler" },
}

/**
 * What the compiler says of the programs with the least of settings: the types of Node are
 * installed and not asked for, and declarations are checked, too.
 */
const problemsOfTypes = (folder: string, name: string): ReadonlyArray<string> => {
  const usual = { strict: true, noEmit: true, skipLibCheck: false }
  const settings = { compilerOptions: { ...usual, ...resolutions[name] }, include: ["*.ts"] }
  const file = join(folder, `tsconfig.${name}.json`)
  writeFileSync(file, JSON.stringify(settings))
  const compiler = join(folder, "node_modules/typescript/bin/tsc")
  const compiled = spawnSync(process.execPath, [compiler, "-p", file], { encoding: "utf8" })
  return compiled.status === 0 ? [] : [`${name}: ${compiled.stdout}`]
}

/** Compiles the programs of the pages, with the declarations of all packages, and runs each. */
export const problemsOfSamples = (folder: string, databaseUrl: string): ReadonlyArray<string> => {
  const samples = pages
    .flatMap(([, page]) => samplesOf(page).map((code) => ({ page, code })))
    .map((sample, index) => ({ ...sample, file: `sample${index}.ts` }))
  for (const { code, file } of samples) writeFileSync(join(folder, file), code)
  const problems = Object.keys(resolutions).flatMap((name) => problemsOfTypes(folder, name))
  if (problems.length > 0) return problems
  return samples.flatMap(({ code, file, page }) => {
    const printed = run(folder, `await import("./${file}")`, { DATABASE_URL: databaseUrl })
    return printed === promised(code)
      ? []
      : [`a program of ${page} printed\n${printed}\nand not\n${promised(code)}`]
  })
}
