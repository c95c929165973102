/**
 * Folders and buckets that cannot be used: one sentence, and nothing left behind.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Samples from "@millrace/conformance/Samples"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { FolderValues, S3Values } from "@millrace/values"
import { Context, Effect, Layer } from "effect"
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { runWriter } from "./RunWriter.ts"
import { bucket, s3Server } from "./S3Server.ts"
import { temporaryFolder } from "./TemporaryFolder.ts"

const key = Effect.map(Samples.make, (samples) => {
  const run = samples.run()
  return { account: run.accountId, runId: run.id, id: "val_1" }
})

const putting = Effect.gen(function* () {
  const { put } = yield* ValueStore
  const { message } = yield* Effect.flip(put(yield* key, new Uint8Array(70_000)))
  return message
})

const all = (folder: string) => readdirSync(folder, { recursive: true })

describe("FolderValues", () => {
  it.effect("says that there is no space left, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const options = { folder, key: yield* key, next: "report", fileBytes: 65_536 } as const
      const { stdout } = runWriter(options)
      const sentence = "The store failed in ValueStore.put: there is no space left for values\n"
      assert.strictEqual(stdout, sentence)
      assert.deepStrictEqual(all(folder), [".unfinished"])
    }),
  )

  it.effect("says that the folder is gone, and does not make it again", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const message = yield* Effect.provide(
        Effect.andThen(
          Effect.sync(() => rmSync(folder, { recursive: true })),
          putting,
        ),
        FolderValues.layer(folder),
      )
      assert.strictEqual(
        message,
        "The store failed in ValueStore.put: the folder of values is gone",
      )
      assert.throws(() => all(folder))
    }),
  )

  it.effect("does not open where there is a file, and names it", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "file")
      writeFileSync(file, "")
      const { message } = yield* Effect.flip(Layer.build(FolderValues.layer(file)))
      assert.include(message, `the folder of values ${file} cannot be used: `)
    }),
  )
})

describe("S3Values", () => {
  it.effect("says that the bucket cannot be reached", () =>
    Effect.gen(function* () {
      const credentials = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" }
      const nowhere = { bucket, endpoint: "http://127.0.0.1:1", credentials }
      assert.strictEqual(
        yield* Effect.provide(putting, S3Values.layer(nowhere)),
        "The store failed in ValueStore.put: the bucket of values cannot be reached (ECONNREFUSED)",
      )
    }),
  )

  it.effect("says why a bucket refuses, without the request", () =>
    Effect.gen(function* () {
      const server = yield* s3Server
      const other = S3Values.layer({ ...server, bucket: "another" })
      const store = Context.get(yield* Layer.build(other), ValueStore)
      const error = yield* Effect.flip(store.put(yield* key, new Uint8Array(10)))
      assert.include(error.message, "the bucket of values refused the call (404 NoSuchBucket)")
      assert.notInclude(inspect(error, { depth: 9 }), "Signature")
    }),
  )
})
