/**
 * The data folder: what it holds, who may use it, and what happens when it is not right.
 */
import { assert, describe, layer, type Vitest } from "@effect/vitest"
import { conformance } from "@millrace/conformance"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { AccountId, type RunId } from "@millrace/core/domain/Id"
import { Pglite, Stores } from "@millrace/postgres"
import { Samples } from "@millrace/conformance"
import { Context, Effect, Layer, Option, type Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs"
import { truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Child from "./Child.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "millrace-folder-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

/** A folder with a database in it, for all tests that leave it in order. */
class Used extends Context.Service<Used, string>()("Used") {
  static readonly layer = Layer.effect(
    Used,
    Effect.gen(function* () {
      const folder = join(yield* temporary, "data")
      yield* use(folder)
      return folder
    }),
  )
}

/** A copy, for tests that damage it. */
const copied = Effect.gen(function* () {
  const folder = join(yield* temporary, "data")
  cpSync(yield* Used, folder, { recursive: true })
  return folder
})

/** A folder that looks as if it had been used, for what is found out without opening anything. */
const sketch = Effect.map(temporary, (folder) => {
  mkdirSync(join(folder, "database"))
  writeFileSync(join(folder, "database", "PG_VERSION"), "18\n")
  writeFileSync(join(folder, "millrace.json"), `{"format":1}`)
  return folder
})

const storesIn = (folder: string) => Stores.layer.pipe(Layer.provide(Pglite.layer(folder)))

/** Opens and closes the database of a folder. */
const use = (folder: string) => Effect.scoped(Layer.build(Pglite.layer(folder)))

/** Every name in a folder, but for what a database that is opened writes down for itself. */
const listing = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !/postmaster\.pid$|pg_internal\.init$/.test(name))
    .toSorted()

const inTemporary = Layer.unwrap(
  Effect.map(temporary, (folder) => storesIn(join(folder, "nested/data"))),
)

conformance("PGlite in a folder", inTemporary)

type Tests = Vitest.MethodsNonLive<Used>

const keeping = (it: Tests): void => {
  it.effect("makes the folder, and says that it is ours", () =>
    Effect.gen(function* () {
      const folder = join(yield* temporary, "data")
      yield* use(folder)
      const names = readdirSync(folder).toSorted()
      assert.deepStrictEqual(names, [".gitignore", "database", "millrace.json"])
      assert.strictEqual(readFileSync(join(folder, ".gitignore"), "utf8"), "*\n")
      const marker = JSON.parse(readFileSync(join(folder, "millrace.json"), "utf8")) as object
      assert.hasAllKeys(marker, ["format", "createdAt"])
    }),
  )

  it.effect("keeps what was stored", () =>
    Effect.gen(function* () {
      const folder = yield* Used
      const samples = yield* Samples.make
      const workflow = samples.workflow()
      const insert = WorkflowStore.use((store) => store.insert(workflow))
      yield* Effect.provide(insert, storesIn(folder))
      const find = WorkflowStore.use((store) => store.find(samples.account, workflow.id))
      const found = yield* Effect.provide(find, storesIn(folder))
      assert.deepStrictEqual(Option.getOrUndefined(found), workflow)
    }),
  )

  it.effect("keeps every acknowledged commit when the process is killed", () =>
    Effect.gen(function* () {
      const folder = yield* Used
      const acknowledged = new Map<AccountId, Array<RunId>>()
      for (let round = 0; round < 2; round++) {
        const child = yield* Child.start("./CommitWriter.ts", folder)
        yield* child.printed(40)
        yield* child.kill
        const [account, ...ids] = child.lines().slice(0, -1)
        acknowledged.set(AccountId.make(account ?? ""), ids as Array<RunId>)
      }
      const check = RunStore.use((store) =>
        Effect.forEach(acknowledged, ([account, ids]) =>
          Effect.gen(function* () {
            assert.isAtLeast(ids.length, 39)
            const records = yield* store.findMany(account, ids)
            assert.strictEqual(records.length, ids.length)
            for (const { nodeRuns, run } of records) {
              assert.strictEqual(nodeRuns.length, 1)
              assert.strictEqual((yield* store.events(account, run.id, 0)).length, 1)
            }
          }),
        ),
      )
      yield* Effect.provide(check, storesIn(folder))
    }),
  )

  it.effect("begins again where its first start was broken off", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      mkdirSync(join(folder, "database"))
      writeFileSync(join(folder, "database", "PG_VERSION"), "18\n")
      writeFileSync(join(folder, "beginning"), "")
      writeFileSync(join(folder, ".gitignore"), "*\n")
      yield* use(folder)
      assert.isTrue(existsSync(join(folder, "millrace.json")))
      assert.isFalse(existsSync(join(folder, "beginning")))
    }),
  )
}

const locked = (it: Tests): void => {
  it.effect("names the process that uses the folder", () =>
    Effect.gen(function* () {
      const folder = yield* Used
      const child = yield* Child.start("./CommitWriter.ts", folder)
      yield* child.printed(2)
      const error = yield* Effect.flip(use(folder))
      assert.strictEqual(error._tag, "DataFolderLocked")
      const sentence =
        `The data folder ${folder} is in use by process ${child.pid}: ` +
        `stop that process, or choose another folder.`
      assert.strictEqual(error.message, sentence)
      yield* child.kill
      yield* use(folder)
    }),
  )

  it.effect("holds within one process, too", () =>
    Effect.gen(function* () {
      const folder = yield* Used
      const second = SqlClient.use(() => Effect.flip(use(folder)))
      const error = yield* Effect.provide(second, Pglite.layer(folder))
      assert.isTrue(error._tag === "DataFolderLocked" && error.pid === process.pid)
    }),
  )
}

const foreign = (it: Tests): void => {
  it.effect("leaves a folder alone that holds something else", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      writeFileSync(join(folder, "thesis.txt"), "years of work")
      const error = yield* Effect.flip(use(folder))
      assert.strictEqual(error._tag, "DataFolderForeign")
      assert.deepStrictEqual(listing(folder), ["thesis.txt"])
      const file = yield* Effect.flip(use(join(folder, "thesis.txt")))
      assert.strictEqual(file._tag, "DataFolderForeign")
      assert.strictEqual(readFileSync(join(folder, "thesis.txt"), "utf8"), "years of work")
    }),
  )

  it.effect("does not take a database for its own that has no marker", () =>
    Effect.gen(function* () {
      const folder = yield* sketch
      rmSync(join(folder, "millrace.json"))
      const before = listing(folder)
      assert.strictEqual((yield* Effect.flip(use(folder)))._tag, "DataFolderForeign")
      assert.deepStrictEqual(listing(folder), before)
    }),
  )
}

type Damage = readonly [name: string, problem: RegExp, damage: (folder: string) => void]

const damagesOfFolder: ReadonlyArray<Damage> = [
  [
    "a marker that is no JSON",
    /millrace\.json cannot be read/,
    (folder) => writeFileSync(join(folder, "millrace.json"), "{"),
  ],
  [
    "a marker that is something else",
    /millrace\.json cannot be read/,
    (folder) => writeFileSync(join(folder, "millrace.json"), `{"format":"old"}`),
  ],
  [
    "a newer format",
    /written by a newer version, in format 2/,
    (folder) => writeFileSync(join(folder, "millrace.json"), `{"format":2}`),
  ],
  [
    "a database that is gone",
    /there is no database in database/,
    (folder) => rmSync(join(folder, "database"), { recursive: true }),
  ],
  [
    "a database without its version",
    /there is no database in database/,
    (folder) => rmSync(join(folder, "database/PG_VERSION")),
  ],
  [
    "a database that is next to nothing",
    /cannot be used/,
    (folder) => writeFileSync(join(folder, "database/base"), "?"),
  ],
]

const truncateLog = (folder: string): void => {
  const log = join(folder, "database/pg_wal")
  for (const name of readdirSync(log).filter((file) => file.startsWith("0"))) {
    truncateSync(join(log, name), 0)
  }
}

const damagesOfDatabase: ReadonlyArray<Damage> = [
  [
    "a control file that is gone",
    /PANIC: {2}could not open file "global\/pg_control"/,
    (folder) => rmSync(join(folder, "database/global/pg_control")),
  ],
  [
    "a control file that was overwritten",
    /database files are incompatible/,
    (folder) => writeFileSync(join(folder, "database/global/pg_control"), "x".repeat(8_192)),
  ],
  ["a log that was cut off", /could not locate a valid checkpoint record/, truncateLog],
  [
    "tables that are gone",
    /FATAL/,
    (folder) => rmSync(join(folder, "database/base"), { recursive: true }),
  ],
]

const damaged = (it: Tests): void => {
  const tells = (
    folder: Effect.Effect<string, never, Used | Scope.Scope>,
    damages: ReadonlyArray<Damage>,
  ): void => {
    for (const [name, problem, damage] of damages) {
      it.effect(`tells of ${name}, and leaves the folder as it is`, () =>
        Effect.gen(function* () {
          const path = yield* folder
          damage(path)
          const before = listing(path)
          const error = yield* Effect.flip(Effect.timeout(use(path), "60 seconds"))
          assert.strictEqual(error._tag, "DataFolderDamaged")
          assert.match(error.message, problem)
          assert.include(error.message, `The data folder ${path} cannot be used (`)
          assert.notInclude(error.message, "\n")
          assert.deepStrictEqual(listing(path), before)
        }),
      )
    }
  }
  tells(sketch, damagesOfFolder)
  tells(copied, damagesOfDatabase)
}

layer(Used.layer, { timeout: "120 seconds", excludeTestServices: true })("DataFolder", (it) => {
  describe("Pglite.layer", () => {
    keeping(it)
  })
  describe("DataFolderLocked", () => {
    locked(it)
  })
  describe("DataFolderForeign", () => {
    foreign(it)
  })
  describe("DataFolderDamaged", () => {
    damaged(it)
  })
})
