/**
 * Checks every call of the promise interface, whatever its transport: options with unknown names
 * are refused, an id must be a part of a URL path, and a body is copied.
 */
import { unknownFields } from "@millrace/core/domain/Nearest"
import { invalid } from "../MillraceError.ts"
import type { Answer, TransportCall, OperationName } from "../Transport.ts"
import { plainJson } from "../PlainJson.ts"

/** The options of every call. */
export interface CallOptions {
  /** When it is aborted, the call ends and rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/**
 * Throws if a field is unknown, unless its value is `undefined`. The message has the nearest known
 * name.
 */
export const checkFields = (of: string, given: object, known: ReadonlyArray<string>): void => {
  const clauses = unknownFields(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name])),
    known,
  )
  if (clauses.length > 0) throw invalid(`${of}: ${clauses.join("; ")}`)
}

/** Throws if an id is empty, `.` or `..`, which would change the path of a URL. */
export const checkId = (id: string, name = "id"): void => {
  if (typeof id === "string" && !/^\.{0,2}$/.test(id)) return
  throw invalid(`${name}: expected an identifier`)
}

/** What a call sends, and the options of its caller. */
export interface Parts extends Omit<TransportCall, "operation" | "signal"> {
  readonly options?: CallOptions | undefined
  /** The options that this operation takes beside `signal`. */
  readonly known?: ReadonlyArray<string>
}

/** Calls operations of some names. */
interface Caller<Name> {
  readonly call: (call: Omit<TransportCall, "operation"> & { operation: Name }) => Promise<Answer>
}

/** Makes the function that calls operations. */
export const makeAsk =
  <Name = OperationName>({ call }: Caller<Name>) =>
  async (operation: Name, parts: Parts = {}): Promise<Answer> => {
    const { known = [], options = {}, ...rest } = parts
    const { signal } = options
    checkFields("options", options, ["signal", ...known])
    if ("id" in rest) checkId(rest.id as string)
    if ("valueId" in rest) checkId(rest.valueId as string, "valueId")
    if ("triggerId" in rest) checkId(rest.triggerId as string, "triggerId")
    if ("nodeId" in rest) checkId(rest.nodeId as string, "nodeId")
    if ("name" in rest) checkId(rest.name as string, "name")
    signal?.throwIfAborted()
    const body = rest.body === undefined ? undefined : plainJson(rest.body, "body")
    return call({ ...rest, operation, body, signal })
  }

/** Calls an operation. */
export type Ask = ReturnType<typeof makeAsk<OperationName>>
