/**
 * The stored form of nodes' inputs. An implied input is stored as an array: the length of its JSON
 * text in bytes, for reads that are bounded by bytes, and its ports. Other inputs are stored as
 * they are.
 *
 * Guarantees: an object is an input; an array is an implied input. Rows of earlier versions have
 * only objects. Leaves out: restoring implied inputs; see `core/domain/ImpliedInput`.
 */
import type { InputPorts, NodeRunByPorts } from "@millrace/core/domain/ImpliedInput"
import type { NodeRun } from "@millrace/core/domain/Run"
import * as Rows from "./Rows.ts"

/** The column of inputs. */
export const name = "input_or_ports"

/** A node run of a commit, and the ports of its input if the input is implied. */
export interface SentNodeRun {
  readonly row: NodeRun
  readonly ports: InputPorts | undefined
}

/** A shorter input is stored as it is, because its ports would take as much space. */
const leastBytes = 32

const storedOf = ({ ports, row: { input } }: SentNodeRun): unknown => {
  if (input === null || ports === undefined) return input
  const bytes = Buffer.byteLength(JSON.stringify(input))
  return bytes < leastBytes ? input : [bytes, ...ports]
}

const ofRow = Rows.within(({ row }: SentNodeRun) => row)

/** Node runs with the stored form of their inputs. */
export const sent = (table: Rows.Table<NodeRun>): Rows.Table<SentNodeRun> =>
  ofRow(table).map((each) => (each.name === name ? { ...each, of: storedOf } : each))

/** A node run from its row. */
export const read = (row: NodeRun): NodeRunByPorts => {
  const stored: unknown = row.input
  return Array.isArray(stored) ? { ...row, input: null, ports: stored.slice(1) } : row
}

/** An expression for the bytes of an input's JSON text. */
export const bytesOf = (stored: string): string =>
  `coalesce(substring(${stored}::text FROM '^\\[(\\d+)')::int8, octet_length(${stored}::text), 0)`
