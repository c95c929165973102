/**
 * The stored form of nodes' inputs. An implied input is stored as an array: the length of its JSON
 * text in bytes, for reads that are bounded by bytes, and its ports. Other inputs are stored as
 * they are.
 *
 * Guarantees: an object is an input; an array is an implied input. Rows of earlier versions have
 * only objects. Leaves out: restoring implied inputs; see `core/domain/ImpliedInput`.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import type { InputPorts, NodeRunByPorts } from "@millrace/core/domain/ImpliedInput"
import type { NodeRun } from "@millrace/core/domain/Run"
import * as Rows from "./Rows.ts"

/** The column of inputs. */
export const name = "input_or_ports"

/** A node run of a commit, and the stored form of its input. */
export interface SentNodeRun {
  readonly row: NodeRun
  readonly stored: unknown
}

/** A shorter input is stored as it is, because its ports would take as much space. */
const leastBytes = 32

const bytesOfText = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Counts the bytes of values. What many nodes of a commit are given is counted once. */
class ByteCount {
  readonly #known = new Map<unknown, number>()

  #of(value: unknown): number {
    const known = this.#known.get(value)
    if (known !== undefined) return known
    const bytes = bytesOfText(value)
    this.#known.set(value, bytes)
    return bytes
  }

  /** The bytes of an input: of the names and values of its ports, with what stands between them. */
  ofInput(input: JsonObject): number {
    let bytes = 1
    for (const port of Object.keys(input)) {
      const value = input[port]
      if (value !== undefined) bytes += this.#of(port) + this.#of(value) + 2
    }
    return bytes
  }
}

/** The node runs of a commit, and the ports of those inputs that are implied. */
export const sentOf = (
  rows: ReadonlyArray<NodeRun>,
  implied: ReadonlyMap<string, InputPorts> | undefined,
): ReadonlyArray<SentNodeRun> => {
  const count = rows.length > 1 ? new ByteCount() : undefined
  return rows.map((row) => {
    const { input, nodeId } = row
    const ports = implied?.get(nodeId)
    if (input === null || ports === undefined) return { row, stored: input }
    const bytes = count?.ofInput(input) ?? bytesOfText(input)
    return { row, stored: bytes < leastBytes ? input : [bytes, ...ports] }
  })
}

const ofRow = Rows.within(({ row }: SentNodeRun) => row)

/** Node runs with the stored form of their inputs. */
export const sent = (table: Rows.Table<NodeRun>): Rows.Table<SentNodeRun> =>
  ofRow(table).map((each) => (each.name === name ? { ...each, of: ({ stored }) => stored } : each))

/** A node run from its row. */
export const read = (row: NodeRun): NodeRunByPorts => {
  const stored: unknown = row.input
  return Array.isArray(stored) ? { ...row, input: null, ports: stored.slice(1) } : row
}

/** An expression for the bytes of an input's JSON text. */
export const bytesOf = (stored: string): string =>
  `coalesce(substring(${stored}::text FROM '^\\[(\\d+)')::int8, octet_length(${stored}::text), 0)`
