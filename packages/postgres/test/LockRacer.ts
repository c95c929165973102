/**
 * A process that tries to take the locks of many folders and tells which ones it got.
 *
 * Run by the tests with a folder of folders; says `ready`, begins when a line comes in, answers
 * with the folders that it took, and holds them until its input ends.
 */
import * as FolderLock from "@millrace/postgres/FolderLock"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"

const root = process.argv[2] ?? ""
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const nextLine = Effect.promise(() => lines.next())

const main = Effect.gen(function* () {
  process.stdout.write("ready\n")
  yield* nextLine
  const taken: Array<string> = []
  for (const name of readdirSync(root)) {
    if ((yield* FolderLock.acquire(join(root, name))) === undefined) taken.push(name)
  }
  process.stdout.write(`${JSON.stringify(taken)}\n`)
  yield* nextLine
})

await Effect.runPromise(Effect.scoped(main))
