/**
 * Which libraries a program loads before it needs them: none of the large ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { ServerProcess } from "./ServerProcess.ts"

const hook = fileURLToPath(new URL("LoadedModules.ts", import.meta.url))
const server = fileURLToPath(new URL("../src/main.ts", import.meta.url))
const millrace = fileURLToPath(new URL("../../millrace/src/index.ts", import.meta.url))

/** The libraries that a thread has loaded, and the parts of ours. */
const loadedBy = (file: string, thread: string) => {
  const lines = readFileSync(file, "utf8").trim().split("\n")
  const urls = lines.filter((line) => line.startsWith(`${thread} file:`))
  const names = urls.flatMap((url) => {
    const library = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)
    const own = /\/packages\/([^/]+)\/src\//.exec(url)
    return library !== null ? [library[1]!] : own !== null ? [`packages/${own[1]}`] : []
  })
  return [...new Set(names)].toSorted()
}

const file = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "millrace-loaded-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
).pipe(Effect.map((folder) => join(folder, "modules")))

const postgres = Effect.acquireRelease(
  Effect.promise(() => PostgresServer.create()),
  (server) => Effect.promise(() => server.remove()),
)

const large = [
  "undici",
  "pg",
  "@electric-sql/pglite",
  "quickjs-emscripten-core",
  "@jitl/quickjs-wasmfile-release-sync",
]

const flags = ["--conditions=@millrace/source", "--import", hook]

describe("import millrace", () => {
  it.live("loads Effect, and neither an engine nor a store", () =>
    Effect.gen(function* () {
      const modules = yield* file
      execFileSync(process.execPath, [...flags, millrace], {
        env: { LOADED_MODULES: modules },
      })
      const ours = ["api", "core", "host", "millrace"].map((name) => `packages/${name}`)
      assert.deepStrictEqual(loadedBy(modules, "main"), ["effect", ...ours])
      // 200 files when this was written; the name `effect` alone stands for 247.
      const files = readFileSync(modules, "utf8").match(/^main file:/gm) ?? []
      assert.isAtMost(files.length, 230)
      // All of Effect, and not only what is needed, would be `effect/dist/index.js`.
      assert.notInclude(readFileSync(modules, "utf8"), "/effect/dist/index.js")
    }).pipe(Effect.scoped),
  )
})

describe("millrace serve", () => {
  it.live("loads no client for HTTP, no PGlite and no QuickJS, and its lease no Effect", () =>
    Effect.gen(function* () {
      const modules = yield* file
      const { url } = yield* postgres
      const process = new ServerProcess(
        ["serve", "--port", "0"],
        { DATABASE_URL: url, LOADED_MODULES: modules, NODE_OPTIONS: `--import=${hook}` },
        server,
      )
      yield* Effect.promise(() => process.waitFor(/listens on http:/))
      yield* Effect.promise(() => process.end("SIGTERM"))
      const main = loadedBy(modules, "main")
      assert.include(main, "@effect/sql-pg")
      assert.deepStrictEqual(
        large.filter((name) => main.includes(name)),
        [],
      )
      // The names that stand for many modules, of which a server needs few.
      for (const many of ["http-api", "encoding"]) {
        const line = new RegExp(`^main file:.*/effect/dist/${many}/index\\.js$`, "m")
        assert.notMatch(readFileSync(modules, "utf8"), line)
      }
      const lease = loadedBy(modules, "millrace-lease")
      assert.include(lease, "pg")
      assert.notInclude(lease, "effect")
      assert.deepStrictEqual(
        lease.filter((name) => name.startsWith("packages/")),
        ["packages/core", "packages/postgres"],
      )
    }).pipe(Effect.scoped),
  )
})

/** Opens an engine, and ends when the thread that keeps its lease runs. */
const opening = (url: string, modules: string) => `
  import { readFileSync } from "node:fs"
  import { createEngine, postgres } from ${JSON.stringify(millrace)}
  await createEngine({ store: postgres(${JSON.stringify(url)}), webhooks: false })
  setInterval(() => {
    if (readFileSync(${JSON.stringify(modules)}, "utf8").includes("millrace-lease file:")) {
      process.exit()
    }
  }, 20)`

describe("an engine on Postgres", () => {
  it.live("has a thread for its lease whatever flags its process has", () =>
    Effect.gen(function* () {
      const modules = yield* file
      const { url } = yield* postgres
      execFileSync(
        process.execPath,
        ["--conditions=@millrace/source", "--input-type=module", "-e", opening(url, modules)],
        { env: { LOADED_MODULES: modules, NODE_OPTIONS: `--import=${hook}` }, timeout: 100_000 },
      )
    }).pipe(Effect.scoped),
  )
})
