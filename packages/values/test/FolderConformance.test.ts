/**
 * The folder against the suite of every store of large values.
 */
import { valueConformance } from "@millrace/conformance"
import { Stores } from "@millrace/memory"
import { FolderValues } from "@millrace/values"
import { Effect, Layer } from "effect"
import { temporaryFolder } from "./TemporaryFolder.ts"

const stores = Layer.unwrap(Effect.map(temporaryFolder, FolderValues.layer))

valueConformance("a folder", Layer.provideMerge(stores, Stores.layer))
