/**
 * Where an engine keeps large values, if not in its store: in a folder, or in S3.
 *
 * Guarantees: only what an engine opens is loaded.
 */
import { MillraceError } from "@millrace/api/MillraceError"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { ValueStore } from "@millrace/core/ports/ValueStore"
import type { S3Options } from "@millrace/values/S3Values"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export type { S3Options } from "@millrace/values/S3Values"

/** A place for large values, which `createEngine` opens. */
export interface Values {
  /** What `createEngine` opens, and closes with the engine. */
  readonly layer: Layer.Layer<ValueStore, StorageError>
}

/** A place that does not open rejects `createEngine` with the reason, which is for its caller. */
const opened = (load: () => Promise<Values["layer"]>): Values => ({
  layer: Layer.unwrap(Effect.promise(load)).pipe(
    Layer.catchTag("StorageError", ({ cause }) => {
      const message = cause instanceof Error ? cause.message : String(cause)
      return Layer.effectContext(Effect.die(new MillraceError("STORE_UNAVAILABLE", message)))
    }),
  ),
})

/**
 * A folder, which is made if missing. Engines on the same database may share it, over a network,
 * too; those on another database need another folder. `createEngine` rejects with
 * `STORE_UNAVAILABLE` if it cannot be written.
 */
export const folderValues = (folder: string): Values =>
  opened(async () => (await import("@millrace/values/FolderValues")).layer(folder))

/**
 * A bucket of S3, or of a server that speaks its protocol. Needs the package `@aws-sdk/client-s3`.
 * Engines on another database need another prefix. `createEngine` rejects with `STORE_UNAVAILABLE`
 * if the package is missing. A bucket that cannot be reached fails the attempts whose values it
 * should keep.
 */
export const s3Values = (options: S3Options): Values =>
  opened(async () => (await import("@millrace/values/S3Values")).layer(options))
