/**
 * The one infrastructure error of every store: the database failed, or the store does not have the
 * port that was asked for. The error does not say whether a write happened; callers read to find
 * out.
 */
import * as Formatter from "effect/Formatter"
import * as Schema from "effect/Schema"
import { Unsupported } from "./OptionalPort.ts"

/** A store could not do its work. `cause` is for operators and never reaches a client. */
export class StorageError extends Schema.TaggedError<StorageError>()("StorageError", {
  operation: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message(): string {
    if (this.cause instanceof Unsupported) return this.cause.message
    return `The store failed in ${this.operation}: ${describe(this.cause)}`
  }
}

const describe = (cause: unknown): string =>
  cause instanceof Error ? cause.message : Formatter.format(cause)
