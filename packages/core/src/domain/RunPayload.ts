/**
 * The large parts of a run's record: the values and the output of the run, and the input, output
 * and logs of its nodes.
 *
 * Guarantees: pure; a store that keeps JSON as text counts the same bytes. Leaves out: errors and
 * names, which are small, and the definition, which no listing contains.
 */
import type { PlacedValues } from "./LargeValue.ts"
import type { NodeRun, Run, RunRecord } from "./Run.ts"
import type { Workflow } from "./Workflow.ts"

const encoder = new TextEncoder()

const bytesOf = (value: unknown): number =>
  value === null ? 0 : encoder.encode(JSON.stringify(value)).length

/** Bytes of JSON text of the values and the output of a run. */
export const runBytesOf = ({ output, values }: Pick<Run, "output" | "values">): number =>
  bytesOf(values) + bytesOf(output)

/** Bytes of JSON text of the payloads of a node run. */
export const nodeBytesOf = ({ input, logs, output }: NodeRun): number =>
  bytesOf(input) + bytesOf(output) + bytesOf(logs)

/** What the stored values at or below a place weigh more than the `null` that stands for each. */
const bytesBeside = (largeValues: PlacedValues, place: string): number =>
  (largeValues ?? []).reduce(
    (sum, { at, bytes }) =>
      at === place || at.startsWith(`${place}/`) ? sum + bytes - "null".length : sum,
    0,
  )

/** Bytes of JSON text of a node run's payloads with their large values; 0 for `null`. */
export const nodeSizesOf = ({ input, largeValues, logs, output }: NodeRun) => ({
  input: bytesOf(input) + bytesBeside(largeValues, "/input"),
  output: bytesOf(output) + bytesBeside(largeValues, "/output"),
  logs: bytesOf(logs),
})

/** The same of the values and the output of a run. */
export const runSizesOf = ({ largeValues, output, values }: Run) => {
  const isLarge = largeValues?.some(({ at }) => at === "/output") === true
  const own = isLarge ? "null".length : bytesOf(output)
  return { values: bytesOf(values), output: own + bytesBeside(largeValues, "/output") }
}

/** Bytes of JSON text of a record's payloads. */
export const payloadBytesOf = ({ nodeRuns, run }: RunRecord): number =>
  nodeRuns.reduce((bytes, row) => bytes + nodeBytesOf(row), runBytesOf(run))

/** Bytes of JSON text of the drawing of a workflow. */
export const drawingBytesOf = ({ edges, nodes }: Pick<Workflow, "nodes" | "edges">): number =>
  bytesOf(nodes) + bytesOf(edges)

/** The record as it is without its payloads, and marked so. */
export const withoutPayloads = (record: RunRecord): RunRecord => ({
  ...record,
  run: { ...record.run, values: {}, output: null },
  nodeRuns: record.nodeRuns.map((row) => ({ ...row, input: null, output: null, logs: null })),
  omitted: true,
})

/**
 * Which records keep their payloads, by the bytes of each: in order, as long as all payloads
 * together have at most `mostBytes`. After the first record that exceeds the sum, none has
 * payloads. A record that alone has more than `mostBytes` loses its payloads and does not count.
 */
export const payloadsKept = (
  bytes: ReadonlyArray<number>,
  mostBytes: number,
): ReadonlyArray<boolean> => {
  let sum = 0
  return bytes.map((each) => {
    if (each <= mostBytes) sum += each
    return each <= mostBytes && sum <= mostBytes
  })
}

/** These records, with the payloads that are {@link payloadsKept}. */
export const withinBytes = (
  records: ReadonlyArray<RunRecord>,
  mostBytes: number,
): ReadonlyArray<RunRecord> => {
  const kept = payloadsKept(records.map(payloadBytesOf), mostBytes)
  return records.map((record, index) => (kept[index]! ? record : withoutPayloads(record)))
}
