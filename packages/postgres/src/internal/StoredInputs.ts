/**
 * Inputs of nodes as they are stored: an implied one as the bytes of its JSON text and its ports,
 * any other one as it is. The bytes are there for reads that are bounded by bytes.
 *
 * Guarantees: an object is an input, an array stands for one; rows of earlier versions have objects
 * only. Leaves out: how an implied input is restored, which `core/domain/ImpliedInput` says.
 */
import type { InputPorts, NodeRunByPorts } from "@millrace/core/domain/ImpliedInput"
import type { NodeRun } from "@millrace/core/domain/Run"
import * as Rows from "./Rows.ts"

/** Where inputs are stored. */
export const name = "input_or_ports"

/** A node run as a commit brings it, and the ports of its input if that is implied. */
export interface SentNodeRun {
  readonly row: NodeRun
  readonly ports: InputPorts | undefined
}

/** An input whose text is shorter is stored as it is: its ports would take as much room. */
const leastBytes = 32

const storedOf = ({ ports, row: { input } }: SentNodeRun): unknown => {
  if (input === null || ports === undefined) return input
  const bytes = Buffer.byteLength(JSON.stringify(input))
  return bytes < leastBytes ? input : [bytes, ...ports]
}

const ofRow = Rows.within(({ row }: SentNodeRun) => row)

/** Node runs with their inputs as they are stored. */
export const sent = (table: Rows.Table<NodeRun>): Rows.Table<SentNodeRun> =>
  ofRow(table).map((each) => (each.name === name ? { ...each, of: storedOf } : each))

/** A node run as it was read. */
export const read = (row: NodeRun): NodeRunByPorts => {
  const stored: unknown = row.input
  return Array.isArray(stored) ? { ...row, input: null, ports: stored.slice(1) } : row
}

/** An expression for the bytes of the text of a stored input. */
export const bytesOf = (stored: string): string =>
  `coalesce(substring(${stored}::text FROM '^\\[(\\d+)')::int8, octet_length(${stored}::text), 0)`
