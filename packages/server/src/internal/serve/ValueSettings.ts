/**
 * Where the settings say that large values are.
 *
 * Guarantees: only the store that is named is loaded.
 */
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { ValueStore } from "@millrace/core/ports/ValueStore"
import { Effect, Layer } from "effect"
import type { ServeSettings } from "../../Config.ts"

type Place = Pick<ServeSettings, "values" | "valuesEndpoint" | "valuesRegion">

const scheme = "s3://"

const load = async ({ values: place, valuesEndpoint, valuesRegion }: Place) => {
  const text = place ?? ""
  if (!text.startsWith(scheme)) return (await import("@millrace/values/FolderValues")).layer(text)
  const [bucket = "", ...prefix] = text.slice(scheme.length).split("/")
  const S3Values = await import("@millrace/values/S3Values")
  return S3Values.layer({
    bucket,
    prefix: prefix.join("/"),
    endpoint: valuesEndpoint ?? undefined,
    region: valuesRegion ?? undefined,
  })
}

/** The store that is named; `undefined` if large values are in the database. */
export const layerOf = (place: Place): Layer.Layer<ValueStore, StorageError> | undefined =>
  place.values === null ? undefined : Layer.unwrap(Effect.promise(() => load(place)))
