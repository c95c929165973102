/**
 * Large values as objects in S3, or in a server that speaks its protocol.
 *
 * Guarantees: an object is there whole or not at all. The AWS SDK is loaded when the store opens.
 * Leaves out: making the bucket, and what the SDK reads of its own: `AWS_REGION` and credentials.
 */
import { valueRemovalsAtOnce } from "@millrace/core/domain/Limits"
import { StorageError } from "@millrace/core/ports/StorageError"
import type { ValueKey, WrittenValue } from "@millrace/core/ports/ValueStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Effect, Layer, Option, Stream } from "effect"
import { keyOf, namesOf } from "./internal/ValueNames.ts"
import type { Bucket, S3Options } from "./internal/S3Bucket.ts"
import { openBucket, pieceBytes } from "./internal/S3Bucket.ts"

export type { S3Options } from "./internal/S3Bucket.ts"

const failed =
  (operation: string) =>
  (error: unknown): StorageError =>
    new StorageError({ operation: `ValueStore.${operation}`, cause: error })

const attempt = <A>(
  operation: string,
  run: (signal: AbortSignal) => Promise<A>,
): Effect.Effect<A, StorageError> => Effect.tryPromise({ try: run, catch: failed(operation) })

/** The bytes of an object, in pieces. No connection is open while the next piece is not wanted. */
const piecesOf = (bucket: Bucket, name: string, size: number) =>
  Stream.unfold<number, Uint8Array, StorageError, never>(0, (from) => {
    if (from >= size) return Effect.undefined
    const behind = Math.min(size, from + pieceBytes)
    const piece = attempt("read", (signal) => bucket.read(name, from, behind - 1, signal))
    return Effect.map(piece, (bytes) => [bytes, behind] as const)
  })

/** The value of an object; `undefined` for an object that is none. */
const valueOf = (
  prefix: string,
  { name, writtenAt }: { readonly name: string; readonly writtenAt: number },
): WrittenValue | undefined => {
  const key = keyOf(name.slice(prefix.length).split("/"))
  return key && { ...key, writtenAt }
}

const storeIn = (bucket: Bucket, prefix: string): ValueStore["Service"] => {
  const nameOf = (key: ValueKey): string | undefined => {
    const names = namesOf(key)
    return names && prefix + names.join("/")
  }
  const list = async (after: ValueKey | undefined, limit: number, signal: AbortSignal) => {
    const found: Array<WrittenValue> = []
    let behind = after && nameOf(after)
    while (found.length < limit) {
      const objects = await bucket.list(prefix, behind, limit - found.length, signal)
      if (objects.length === 0) break
      found.push(...objects.flatMap((object) => valueOf(prefix, object) ?? []))
      behind = objects.at(-1)?.name
    }
    return found
  }
  return {
    put: (key, bytes) => {
      const name = nameOf(key)
      if (name === undefined) return failed("put")(new Error("the id of a value is too long"))
      return attempt("put", async (signal) => {
        // No two writers of one key: each value gets an id of its own.
        const known = await bucket.size(name, signal)
        if (known === undefined) await bucket.write(name, bytes, signal)
      })
    },
    read: (key) => {
      const name = nameOf(key)
      if (name === undefined) return Effect.succeedNone
      return Effect.map(
        attempt("read", (signal) => bucket.size(name, signal)),
        (size) => Option.map(Option.fromUndefinedOr(size), (it) => piecesOf(bucket, name, it)),
      )
    },
    remove: (keys) =>
      Effect.forEach(
        keys.flatMap((key) => nameOf(key) ?? []),
        (name) => attempt("remove", (signal) => bucket.remove(name, signal)),
        { concurrency: valueRemovalsAtOnce, discard: true },
      ),
    list: (after, limit) => attempt("list", (signal) => list(after, limit, signal)),
  }
}

const open = (options: S3Options) =>
  Effect.map(
    Effect.acquireRelease(
      attempt("open", () => openBucket(options)),
      (bucket) => Effect.sync(bucket.close),
    ),
    (bucket) => {
      const prefix = (options.prefix ?? "").replace(/^\/+|\/+$/g, "")
      return ValueStore.of(storeIn(bucket, prefix === "" ? "" : `${prefix}/`))
    },
  )

/**
 * A store of large values in a bucket. Fails if the package `@aws-sdk/client-s3` is missing; a
 * bucket that cannot be reached fails the calls. Processes that share a prefix must share a
 * database, too.
 */
export const layer = (options: S3Options): Layer.Layer<ValueStore, StorageError> =>
  Layer.effect(ValueStore, open(options))
