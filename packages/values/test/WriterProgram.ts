/**
 * Stores one value of a megabyte in a folder, and does what it is told then.
 */
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { FolderValues } from "@millrace/values"
import { Effect } from "effect"
import { watch } from "node:fs"
import { join } from "node:path"
import type { WriterOptions } from "./RunWriter.ts"

const { folder, key, next } = JSON.parse(process.argv[2] ?? "") as WriterOptions

const die = () => process.kill(process.pid, "SIGKILL")

const write = Effect.gen(function* () {
  const store = yield* ValueStore
  // The first change in there is the beginning of the value.
  if (next === "die in the middle") watch(join(folder, ".unfinished"), die)
  yield* store.put(key, new Uint8Array(1_048_576))
  if (next !== "report") die()
})

const result = await Effect.runPromise(
  write.pipe(Effect.provide(FolderValues.layer(folder)), Effect.flip),
)
console.log(result.message)
