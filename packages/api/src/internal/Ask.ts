/**
 * What holds for every call of the promise interface, whatever transport it takes: names that there
 * are not are refused, an id is a text, and a body is copied.
 */
import { unknownFields } from "@millrace/core/domain/Nearest"
import { invalid } from "../MillraceError.ts"
import type { Answer, TransportCall, OperationName, Transport } from "../Transport.ts"
import { plainJson } from "../PlainJson.ts"

/** What every call may be given. */
export interface CallOptions {
  /** Aborting it gives the call up, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** Refuses fields that there are not, with the nearest name. */
export const checkFields = (of: string, given: object, known: ReadonlyArray<string>): void => {
  const clauses = unknownFields(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name])),
    known,
  )
  if (clauses.length > 0) throw invalid(`${of}: ${clauses.join("; ")}`)
}

/** Refuses what cannot be a part of an address. */
export const checkId = (id: string): void => {
  if (typeof id !== "string" || /^\.{0,2}$/.test(id)) throw invalid("id: expected an identifier")
}

/** The parts of a call, and the options that it was given. */
export interface Parts extends Omit<TransportCall, "operation" | "signal"> {
  readonly options?: CallOptions | undefined
  /** The names of options beside `signal`. */
  readonly known?: ReadonlyArray<string>
}

/** Makes what calls operations. */
export const makeAsk =
  ({ call }: Transport) =>
  async (operation: OperationName, parts: Parts = {}): Promise<Answer> => {
    const { known = [], options = {}, ...rest } = parts
    const { signal } = options
    checkFields("options", options, ["signal", ...known])
    if ("id" in rest) checkId(rest.id as string)
    signal?.throwIfAborted()
    const body = rest.body === undefined ? undefined : plainJson(rest.body, "body")
    return call({ ...rest, operation, body, signal })
  }

/** Calls operations of a transport. */
export type Ask = ReturnType<typeof makeAsk>
