/**
 * What an engine refuses or cannot do, as errors of JavaScript: one class, a code for programs and
 * one sentence for people.
 *
 * Guarantees: every refusal has a code of its own; no code is decided by the text of a message.
 */
import type { InvalidKey, KeyNotFound } from "@millrace/core/engine/Keys"
import type {
  BeyondMaxCredits,
  InvalidGraph,
  InvalidWebhook,
  RevisionMismatch,
  RunEnded,
  RunNotFound,
  TooManyChanges,
  WorkflowNotFound,
} from "@millrace/core/engine/Refusals"
import type { AccountNotFound, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { InvalidRequest } from "@millrace/http/Errors"
import type {
  DataFolderDamaged,
  DataFolderForeign,
  DataFolderLocked,
} from "@millrace/postgres/DataFolder"
import { Cause, Data, Option } from "effect"

/** A run did not end in the time that a caller was ready to wait. It goes on. */
export class WaitTimeout extends Data.TaggedError("WaitTimeout")<{ readonly message: string }> {}

/** Everything that a call or a start can be refused for. */
export type Refusal =
  | AccountNotFound
  | BeyondMaxCredits
  | DataFolderDamaged
  | DataFolderForeign
  | DataFolderLocked
  | InsufficientCredits
  | InvalidGraph
  | InvalidWebhook
  | InvalidKey
  | InvalidRequest
  | KeyNotFound
  | LabelTaken
  | RevisionMismatch
  | RunEnded
  | RunNotFound
  | StorageError
  | TooManyChanges
  | TooManyKeys
  | WaitTimeout
  | WorkflowNotFound

const codes = {
  AccountNotFound: "ACCOUNT_NOT_FOUND",
  BeyondMaxCredits: "BEYOND_MAX_CREDITS",
  DataFolderDamaged: "DATA_FOLDER_DAMAGED",
  DataFolderForeign: "DATA_FOLDER_FOREIGN",
  DataFolderLocked: "DATA_FOLDER_LOCKED",
  InsufficientCredits: "INSUFFICIENT_CREDITS",
  InvalidGraph: "INVALID_GRAPH",
  InvalidWebhook: "INVALID_WEBHOOK",
  InvalidKey: "INVALID_KEY",
  InvalidRequest: "INVALID_REQUEST",
  KeyNotFound: "KEY_NOT_FOUND",
  LabelTaken: "LABEL_TAKEN",
  RevisionMismatch: "REVISION_MISMATCH",
  RunEnded: "RUN_ENDED",
  RunNotFound: "RUN_NOT_FOUND",
  StorageError: "STORE_UNAVAILABLE",
  TooManyChanges: "TOO_MANY_CHANGES",
  TooManyKeys: "TOO_MANY_KEYS",
  WaitTimeout: "TIMEOUT",
  WorkflowNotFound: "WORKFLOW_NOT_FOUND",
} as const satisfies { readonly [Tag in Refusal["_tag"]]: string }

/** What an error is, for programs. `INTERNAL` is a fault; everything else has a reason outside. */
export type ErrorCode = (typeof codes)[Refusal["_tag"]] | "ENGINE_CLOSED" | "INTERNAL"

/** The error that every call of an engine rejects with. `message` is one sentence. */
export class MillraceError extends Error {
  readonly code: ErrorCode
  /** Of `INVALID_GRAPH`: every problem as a sentence of its own. Else empty. */
  readonly problems: ReadonlyArray<string>

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly problems?: ReadonlyArray<string>; readonly cause?: unknown } = {},
  ) {
    super(message, options)
    this.name = "MillraceError"
    this.code = code
    this.problems = options.problems ?? []
  }
}

/** What is said to whoever calls an engine that is closed. */
export const closed = (): MillraceError =>
  new MillraceError("ENGINE_CLOSED", "The engine is closed")

/** The error for one refusal. */
export const ofRefusal = (refusal: Refusal): MillraceError => {
  const problems = refusal._tag === "InvalidGraph" ? refusal.problems : []
  return new MillraceError(codes[refusal._tag], refusal.message, { problems, cause: refusal })
}

const ofFault = (fault: unknown): MillraceError => {
  const message = fault instanceof Error ? fault.message : String(fault)
  return new MillraceError("INTERNAL", message, { cause: fault })
}

/** The error for whatever ended an effect. */
export const ofCause = (cause: Cause.Cause<Refusal>): MillraceError =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => ofFault(Cause.squash(cause)),
    onSome: ofRefusal,
  })
