/**
 * Turns every error of `createEngine` and of the engine's calls into a `MillraceError`.
 */
import type { ErrorCode } from "@millrace/api/MillraceError"
import { MillraceError } from "@millrace/api/MillraceError"
import type { Refusal as CallRefusal } from "@millrace/http/Errors"
import { errorOf } from "@millrace/http/Errors"
import type {
  DataFolderDamaged,
  DataFolderForeign,
  DataFolderLocked,
} from "@millrace/postgres/DataFolder"
import { Cause, Option } from "effect"

/** An error of `@millrace/sqlite`, whose types are there only if it is installed. */
interface FileRefusal extends Error {
  readonly _tag: "DataFileDamaged" | "DataFileForeign" | "DataFileLocked"
}

type StoreRefusal = DataFolderDamaged | DataFolderForeign | DataFolderLocked | FileRefusal

/** Every error of a call or of `createEngine`. */
export type Refusal = CallRefusal | StoreRefusal

const storeCodes: { readonly [Tag in StoreRefusal["_tag"]]: ErrorCode } = {
  DataFileDamaged: "DATA_FILE_DAMAGED",
  DataFileForeign: "DATA_FILE_FOREIGN",
  DataFileLocked: "DATA_FILE_LOCKED",
  DataFolderDamaged: "DATA_FOLDER_DAMAGED",
  DataFolderForeign: "DATA_FOLDER_FOREIGN",
  DataFolderLocked: "DATA_FOLDER_LOCKED",
}

const isOfStore = (refusal: Refusal): refusal is StoreRefusal => refusal._tag in storeCodes

/** The error of a call on a closed engine. */
export const closed = (): MillraceError =>
  new MillraceError("ENGINE_CLOSED", "The engine is closed", { status: 503 })

const ofRefusal = (refusal: Refusal): MillraceError =>
  isOfStore(refusal)
    ? new MillraceError(storeCodes[refusal._tag], refusal.message, { cause: refusal })
    : errorOf(refusal)

/** A defect keeps its message, because the caller is the operator. */
const ofFault = (fault: unknown): MillraceError => {
  if (fault instanceof MillraceError) return fault
  const message = fault instanceof Error ? fault.message : String(fault)
  return new MillraceError("INTERNAL_ERROR", message, { status: 500, cause: fault })
}

/** The same for `createEngine`, whose caller is told why a store does not open. */
export const ofOpening = (cause: Cause.Cause<Refusal>): MillraceError => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return error?._tag === "StorageError"
    ? new MillraceError("STORE_UNAVAILABLE", error.message, { status: 503, cause: error })
    : ofCause(cause)
}

/** The error for the cause that ended an effect. */
export const ofCause = (cause: Cause.Cause<Refusal>): MillraceError =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => ofFault(Cause.squash(cause)),
    onSome: ofRefusal,
  })
