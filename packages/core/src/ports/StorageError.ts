/**
 * The one infrastructure error of every store: the database did not answer as it should. It says
 * nothing about whether a write happened; callers read to find out.
 */
import { Schema } from "effect"

/** A store could not do its work. `cause` is for operators and never reaches a client. */
export class StorageError extends Schema.TaggedError<StorageError>()("StorageError", {
  operation: Schema.String,
  cause: Schema.Defect(),
}) {
  override get message(): string {
    return `The store failed in ${this.operation}: ${describe(this.cause)}`
  }
}

const describe = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause)
