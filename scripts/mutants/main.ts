/**
 * `npm run test:mutants -- PART [FILE...] [--tests NAME]... [--concurrency N] [--minutes N]`:
 * breaks the sources of a part, one small fault at a time, and tells which faults its tests do not
 * notice. With `--tests`, only those files of tests judge: first the quick ones, then all of them
 * about what is left. `--tests millrace:NAME` names one of another package.
 *
 * The faults are planted in a copy of the repository in the system's folder for temporary files,
 * whose packages are linked to each other, so that no test reaches a source without the fault. What
 * is known already is kept in `.mutants/PART.json` and not tried again; files are tried in small
 * groups, so a run that reaches its time limit keeps what it has. Texts are left alone, and so are
 * values that are made once, when a module is read.
 */
import { spawn, spawnSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { parseArgs } from "node:util"
import { namedTests, parts } from "./Parts.ts"
import { printReport } from "./Report.ts"

const root = path.resolve(import.meta.dirname, "../..")
const tools = import.meta.dirname
const cache = path.join(root, ".mutants")
const filesAtOnce = 4

const run = (command: string, args: ReadonlyArray<string>, cwd: string): string => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`)
  return stdout
}

/** Installs the mutation tester beside this file, once. */
const installTools = (): void => {
  if (fs.existsSync(path.join(tools, "node_modules/@stryker-mutator/vitest-runner"))) return
  run("npm", ["ci"], tools)
}

/** Copies what git knows, with its changes, and links the packages of the copy to each other. */
const copyRepository = (): string => {
  const copy = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "millrace-mutants-")))
  const files = run("git", ["ls-files", "-co", "--exclude-standard", "-z"], root).split("\0")
  for (const file of files) {
    if (file !== "" && fs.existsSync(path.join(root, file))) {
      fs.cpSync(path.join(root, file), path.join(copy, file))
    }
  }
  const link = (name: string): void => {
    const target = fs.realpathSync(path.join(root, "node_modules", name))
    const inside = path.relative(root, target)
    const workspace = !inside.startsWith("..") && !inside.startsWith("node_modules")
    const place = path.join(copy, "node_modules", name)
    fs.mkdirSync(path.dirname(place), { recursive: true })
    fs.symlinkSync(workspace ? path.join(copy, inside) : target, place)
  }
  for (const name of fs.readdirSync(path.join(root, "node_modules"))) {
    if (name.startsWith("@")) {
      const scoped = fs.readdirSync(path.join(root, "node_modules", name))
      for (const one of scoped) link(`${name}/${one}`)
    } else if (!name.startsWith(".")) link(name)
  }
  return copy
}

/** The sources of a part, from the root of the repository; those that a filter names, if any. */
const sourcesOf = (name: string, filters: ReadonlyArray<string>): ReadonlyArray<string> => {
  const part = parts[name]
  if (part === undefined) {
    throw new Error(`There is no part "${name}". Name one of: ${Object.keys(parts).join(", ")}.`)
  }
  const folder = path.join(root, "packages", part.package, part.sources)
  const all = fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && path.basename(file) !== "index.ts")
    .toSorted()
  const named = (file: string) => filters.some((one) => file.endsWith(`/${one}.ts`))
  for (const one of filters) {
    if (all.some((file) => `/${file}`.endsWith(`/${one}.ts`))) continue
    throw new Error(`No file of ${name} is called ${one}. Leave out ".ts".`)
  }
  return all
    .filter((file) => filters.length === 0 || named(`/${file}`))
    .map((file) => path.relative(root, path.join(folder, file)))
}

/** Rejects a name of tests that no test has: with no test to judge, every fault would live. */
const checkTests = (name: string, tests: ReadonlyArray<string>): void => {
  const cwd = path.join(root, "packages")
  for (const one of tests) {
    if (fs.globSync(namedTests(parts[name]!, one), { cwd }).length > 0) continue
    throw new Error(`No test of ${name} is called ${one}. Leave out "test/" and ".test.ts".`)
  }
}

const configuration = (files: ReadonlyArray<string>, known: string, concurrency: number) => ({
  packageManager: "npm",
  plugins: [
    path.join(tools, "node_modules/@stryker-mutator/vitest-runner/dist/src/index.js"),
    path.join(tools, "Teller.ts"),
  ],
  testRunner: "vitest",
  vitest: { configFile: "scripts/mutants/vitest.config.ts", related: false },
  mutate: files,
  mutator: { excludedMutations: ["StringLiteral"] },
  inPlace: true,
  ignoreStatic: true,
  coverageAnalysis: "perTest",
  incremental: true,
  incrementalFile: known,
  reporters: ["progress-append-only", "teller"],
  concurrency,
  timeoutMS: 8_000,
  timeoutFactor: 2,
  dryRunTimeoutMinutes: 10,
})

/** Tries one group of files; `false` if the time was over before it was done. */
const tryFiles = (
  copy: string,
  env: Readonly<Record<string, string>>,
  config: object,
  millis: number,
): Promise<boolean> => {
  const file = path.join(copy, "stryker.conf.json")
  fs.writeFileSync(file, JSON.stringify(config))
  const stryker = path.join(tools, "node_modules/@stryker-mutator/core/bin/stryker.js")
  const child = spawn(process.execPath, [stryker, "run", file], {
    cwd: copy,
    stdio: "inherit",
    detached: true,
    env: { ...process.env, ...env, NODE_COMPILE_CACHE: path.join(cache, "compiled") },
  })
  const stop = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL")
  return new Promise((resolve, reject) => {
    const timer = setTimeout(stop, millis)
    process.once("SIGINT", stop)
    child.once("error", reject)
    child.once("exit", (code, signal) => {
      clearTimeout(timer)
      process.off("SIGINT", stop)
      if (code === 0) resolve(true)
      else if (signal === "SIGKILL") resolve(false)
      else reject(new Error(`The mutation tester ended with code ${code}.`))
    })
  })
}

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      concurrency: { type: "string", default: "2" },
      minutes: { type: "string", default: "60" },
      tests: { type: "string", multiple: true, default: [] },
    },
  })
  const [name = "", ...filters] = positionals
  const files = sourcesOf(name, filters)
  checkTests(name, values.tests)
  const known = path.join(cache, `${name.replaceAll("/", "-")}.json`)
  fs.mkdirSync(cache, { recursive: true })
  installTools()
  const copy = copyRepository()
  const env = { MUTANTS_PART: name, MUTANTS_TESTS: values.tests.join(",") }
  const end = Date.now() + Number(values.minutes) * 60_000
  try {
    for (let at = 0; at < files.length; at += filesAtOnce) {
      const group = files.slice(at, at + filesAtOnce)
      const config = configuration(group, known, Number(values.concurrency))
      if (await tryFiles(copy, env, config, end - Date.now())) continue
      console.log(`The time is over. Not tried: ${files.slice(at).join(", ")}`)
      break
    }
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
  printReport(known, files)
}

await main()
