/**
 * A process that tries to take the locks of many folders and tells which ones it got.
 *
 * Run by the tests; says `ready`, takes each line that comes in as a folder of folders, answers
 * with those that it took, and holds them until its input ends.
 */
import * as FolderLock from "../src/internal/FolderLock.ts"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const nextLine = Effect.promise(() => lines.next())

const main = Effect.gen(function* () {
  process.stdout.write("ready\n")
  let line = yield* nextLine
  while (line.done !== true) {
    const root = line.value
    const taken: Array<string> = []
    for (const name of readdirSync(root)) {
      if ((yield* FolderLock.acquire(join(root, name))) === undefined) taken.push(name)
    }
    process.stdout.write(`${JSON.stringify(taken)}\n`)
    line = yield* nextLine
  }
})

await Effect.runPromise(Effect.scoped(main))
