/**
 * The lock of a folder: who gets it, and what the dead leave behind.
 */
import { assert, describe, it } from "@effect/vitest"
import * as FolderLock from "../src/internal/FolderLock.ts"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Child from "./Child.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "millrace-lock-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

describe("FolderLock.acquire", () => {
  const holder = (pid: number, startedAt: string | null) =>
    JSON.stringify({ pid, startedAt, token: "somebody" })

  const take = (folder: string) => Effect.scoped(FolderLock.acquire(folder))

  it.live("takes over from a process that is no more", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const child = yield* Child.start("./LockRacer.ts")
      yield* child.kill
      // A number that nobody has, a number that somebody else has now, and what nobody can read.
      for (const text of [holder(child.pid, null), holder(process.pid, "long ago"), "", "{"]) {
        writeFileSync(join(folder, "lock"), text)
        assert.isUndefined(yield* take(folder))
        assert.deepStrictEqual(readdirSync(folder), [])
      }
    }),
  )

  // Where the first process of a container asks after nobody, the dead stay listed.
  it.live.skipIf(process.platform !== "linux")(
    "takes over from a process that has ended and that nobody has asked after",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporary
        const parent = yield* Effect.acquireRelease(
          Effect.sync(() => spawn("sh", ["-c", "sleep 0.3 & echo $!; exec sleep 60"])),
          (child) => Effect.sync(() => child.kill("SIGKILL")),
        )
        const pid = yield* Effect.promise(
          () =>
            new Promise<number>((resolve) => {
              parent.stdout.once("data", (data) => resolve(Number(String(data))))
            }),
        )
        const statusOf = () => readFileSync(`/proc/${pid}/stat`, "utf8")
        while (!statusOf().includes(") Z ")) yield* Effect.sleep("5 millis")
        const startedAt = statusOf().split(") ")[1]!.split(" ")[19]!
        writeFileSync(join(folder, "lock"), holder(pid, startedAt))
        assert.isUndefined(yield* take(folder))
      }),
  )

  it.live("takes over from a process that died while it took over", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const dead = (token: string) => JSON.stringify({ pid: 2 ** 30, startedAt: null, token })
      writeFileSync(join(folder, "lock"), dead("first"))
      writeFileSync(join(folder, "lock.first"), dead("second"))
      writeFileSync(join(folder, "lock.second"), dead("third"))
      assert.isUndefined(yield* take(folder))
      assert.deepStrictEqual(readdirSync(folder), [])
    }),
  )

  it.live("leaves the lock to a process that is alive", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      writeFileSync(join(folder, "lock"), holder(process.pid, null))
      assert.strictEqual((yield* take(folder))?.pid, process.pid)
      assert.deepStrictEqual(readdirSync(folder), ["lock"])
    }),
  )

  it.live("gives a dead process's lock to exactly one of many that start together", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 100 }, (_, n) => `folder-${n}`)
      const start = Child.start("./LockRacer.ts")
      const racers = yield* Effect.forEach([1, 2, 3, 4], () => start, { concurrency: 4 })
      yield* Effect.forEach(racers, (racer) => racer.printed(1))
      // A busy machine may let one of them finish before another begins: that was no race then.
      let contested = 0
      for (let round = 1; contested < 5 && round <= 100; round++) {
        const root = yield* temporary
        for (const name of names) {
          mkdirSync(join(root, name))
          writeFileSync(join(root, name, "lock"), holder(2 ** 30, null))
        }
        yield* Effect.forEach(racers, (racer) => racer.send(root))
        const outputs = yield* Effect.forEach(racers, (racer) => racer.printed(round + 1))
        const taken = outputs.map((lines) => JSON.parse(lines[round] ?? "") as Array<string>)
        assert.deepStrictEqual(taken.flat().toSorted(), names.toSorted())
        if (taken.filter((own) => own.length > 0).length > 1) contested += 1
      }
      assert.strictEqual(contested, 5)
    }),
  )
})
