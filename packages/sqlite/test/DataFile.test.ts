/**
 * What a user can rely on about the file: who may open it, what is refused and left as it is, and
 * what is in it after a crash.
 */
import { assert, describe, it } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { RunSource } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Stores } from "@millrace/sqlite"
import { Effect, Option } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterAll, onTestFinished } from "vitest"
import { sourceIs } from "../src/internal/RunRecords.ts"
import { versions } from "../src/internal/Tables.ts"

const root = mkdtempSync(join(tmpdir(), "millrace-file-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

type Used<A, E> = Effect.Effect<A, E, WorkflowStore>

/** Opens a file, uses its stores and closes it. */
const using = <A, E>(file: string, use: Used<A, E>) =>
  Effect.scoped(Effect.provide(use, Stores.layer(file), { local: true }))

const nothing = Effect.void as Used<void, never>

/** The error with which a file is refused. */
const refused = (file: string) => Effect.flip(using(file, nothing))

/** A file of the second version with runs of these sources. */
const oldFile = (sources: ReadonlyArray<string>): string => {
  const file = join(root, "old.db")
  const database = new DatabaseSync(file)
  database.exec(versions.slice(0, 2).join(""))
  for (const [n, source] of sources.entries()) {
    database.exec(`INSERT INTO runs (number, id, account_id, workflow_id, workflow_name,
        name_folded, definition_id, created_at, estimated_credits, actual_credits, status, fence,
        revision, sequence, messages, is_due, payload_bytes, active, state)
      VALUES (${n}, 'run_${n}', 'acc', 'wf', '"x"', 'x', 'd', ${n}, 0, 0, 'COMPLETED', 0, 1,
        1, 0, 0, 0, '[]', '{}')`)
    const workflowName = 'x","source":"mcp'
    const head = { id: `run_${n}`, workflowName, source, createdAt: n, values: { source: "mcp" } }
    const insert = database.prepare("INSERT INTO run_heads (run, head) VALUES (?, ?)")
    insert.run(n, JSON.stringify(head))
  }
  database.exec(`PRAGMA user_version = 2; PRAGMA application_id = 0x4d696c52`)
  database.close()
  return file
}

const isOneSentence = (message: string) =>
  assert.match(message, /^The (?:data )?file \S+ [^\n]*[^.\n]\.$/)

/** Starts a process that writes to a file; `line` resolves with each thing that it has written. */
const writer = (file: string) => {
  const script = fileURLToPath(new URL("Writer.ts", import.meta.url))
  const options = ["--conditions=@millrace/source", script, file]
  const child = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] })
  onTestFinished(() => void child.kill("SIGKILL"))
  const lines: Array<string> = []
  const reader = createInterface({ input: child.stdout }).on("line", (line) => lines.push(line))
  const some = async (count: number) => {
    while (lines.length < count) await once(reader, "line")
  }
  const kill = async () => {
    const closed = once(child, "close")
    child.kill("SIGKILL")
    await closed
    return lines
  }
  return { some, kill }
}

describe("Stores.layer", () => {
  it.effect("brings a file of an older version up to date, and knows who asked for its runs", () =>
    Effect.gen(function* () {
      const file = oldFile(["api", "ui", "api", "mcp", "ui"])
      const account = AccountId.make("acc")
      const idsOf = (source: RunSource) =>
        Effect.gen(function* () {
          const runs = yield* RunStore
          const { items } = yield* runs.list({ account, limit: 10, source })
          return items.map(({ id }) => id)
        }).pipe(Effect.provide(Stores.layer(file), { local: true }), Effect.scoped)
      assert.deepStrictEqual(yield* idsOf("ui"), ["run_4", "run_1"])
      assert.deepStrictEqual(yield* idsOf("mcp"), ["run_3"])
      assert.deepStrictEqual(yield* idsOf("api"), ["run_2", "run_0"])
      const database = new DatabaseSync(file)
      const plan = database
        .prepare(
          `EXPLAIN QUERY PLAN SELECT number FROM runs WHERE account_id = ? AND ${sourceIs("ui")}
          ORDER BY created_at DESC, id DESC LIMIT 20`,
        )
        .all("acc")
      assert.match(JSON.stringify(plan), /USING INDEX runs_by_source|COVERING INDEX runs_by_source/)
      assert.lengthOf(plan, 1)
      database.close()
    }),
  )

  it.effect("makes the file and its folders, and finds in it what was stored", () =>
    Effect.gen(function* () {
      const file = join(root, "new", "folder", "data.db")
      const samples = yield* Samples.make
      const workflow = samples.workflow()
      yield* using(
        file,
        WorkflowStore.use((store) => store.insert(workflow)),
      )
      const found = yield* using(
        file,
        WorkflowStore.use((store) => store.find(workflow.accountId, workflow.id)),
      )
      assert.deepStrictEqual(Option.getOrThrow(found), workflow)
    }),
  )

  it.effect("refuses a file that is open already, also in the same process", () =>
    Effect.gen(function* () {
      const file = join(root, "locked.db")
      const error = yield* using(file, Effect.andThen(nothing, refused(file)))
      assert.strictEqual(error._tag, "DataFileLocked")
      isOneSentence(error.message)
      yield* using(file, nothing)
    }),
  )

  it.effect("refuses a file of another process, and opens it as soon as that was killed", () =>
    Effect.gen(function* () {
      const file = join(root, "killed.db")
      for (let round = 1; round <= 2; round++) {
        const child = writer(file)
        yield* Effect.promise(() => child.some(round * 30))
        assert.strictEqual((yield* refused(file))._tag, "DataFileLocked")
        const told = yield* Effect.promise(() => child.kill())
        yield* using(
          file,
          WorkflowStore.use((store) =>
            Effect.forEach(told, (line) => {
              const [account = "", id = ""] = line.split(" ")
              const found = store.find(AccountId.make(account), WorkflowId.make(id))
              return Effect.map(found, (one) => assert.isTrue(Option.isSome(one), line))
            }),
          ),
        )
      }
    }),
  )

  it.effect("does not touch a file that is something else", () =>
    Effect.gen(function* () {
      const text = join(root, "diary.txt")
      writeFileSync(text, "dear diary")
      const other = join(root, "other.db")
      const database = new DatabaseSync(other)
      database.exec("CREATE TABLE mine (a); PRAGMA user_version = 1")
      database.close()
      for (const file of [text, other, root]) {
        const before = file === root ? undefined : readFileSync(file)
        const error = yield* refused(file)
        assert.strictEqual(error._tag, "DataFileForeign")
        isOneSentence(error.message)
        if (before !== undefined) assert.deepStrictEqual(readFileSync(file), before)
      }
    }),
  )

  it.effect("refuses a file of a later version, and leaves it as it is", () =>
    Effect.gen(function* () {
      const file = join(root, "later.db")
      yield* using(file, nothing)
      const database = new DatabaseSync(file)
      database.exec("PRAGMA user_version = 99")
      database.close()
      const error = yield* refused(file)
      assert.strictEqual(error._tag, "DataFileDamaged")
      assert.include(error.message, "it has schema 99 of a later version")
      isOneSentence(error.message)
      const again = new DatabaseSync(file)
      assert.strictEqual(again.prepare("PRAGMA user_version").get()?.["user_version"], 99)
      again.close()
    }),
  )

  it.effect("says so when a file is damaged", () =>
    Effect.gen(function* () {
      const file = join(root, "damaged.db")
      yield* using(file, nothing)
      truncateSync(file, 8_192)
      const error = yield* refused(file)
      assert.strictEqual(error._tag, "DataFileDamaged")
      isOneSentence(error.message)
    }),
  )
})

/** How many transactions the journal of a file holds: frames that say the size of the database. */
const transactionsOf = (file: string): number => {
  const journal = readFileSync(`${file}-wal`)
  const frame = 24 + 4_096
  let count = 0
  for (let at = 32; at + frame <= journal.length; at += frame) {
    if (journal.readUInt32BE(at + 4) > 0) count += 1
  }
  return count
}

describe("Writes that come at once", () => {
  it.live("wait for the disk together", () =>
    Effect.gen(function* () {
      const file = join(root, "together.db")
      const samples = yield* Samples.make
      const many = Array.from({ length: 100 }, () => samples.workflow())
      const count = yield* using(
        file,
        WorkflowStore.use((store) =>
          Effect.gen(function* () {
            const before = transactionsOf(file)
            yield* Effect.forEach(many, store.insert, { concurrency: "unbounded" })
            return transactionsOf(file) - before
          }),
        ),
      )
      assert.strictEqual(count, 1)
    }),
  )

  it.live("fail alone: the others are stored", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [first, second] = [samples.workflow(), samples.workflow()]
      const outcomes = yield* using(
        join(root, "alone.db"),
        WorkflowStore.use((store) =>
          Effect.gen(function* () {
            const exits = yield* Effect.forEach(
              [first, first, second],
              (each) => Effect.exit(store.insert(each)),
              { concurrency: "unbounded" },
            )
            const found = yield* store.find(second.accountId, second.id)
            return { exits: exits.map(({ _tag }) => _tag), found }
          }),
        ),
      )
      assert.deepStrictEqual(outcomes.exits, ["Success", "Failure", "Success"])
      assert.deepStrictEqual(Option.getOrThrow(outcomes.found), second)
    }),
  )
})
