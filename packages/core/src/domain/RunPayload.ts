/**
 * The large parts of a run's record: the values and the output of the run, and the input, output
 * and logs of its nodes.
 *
 * Guarantees: pure; a store that keeps JSON as text counts the same bytes. Leaves out: errors and
 * names, which are small, and the definition, which no answer contains.
 */
import type { RunRecord } from "./Run.ts"

const encoder = new TextEncoder()

const bytesOf = (value: unknown): number =>
  value === null ? 0 : encoder.encode(JSON.stringify(value)).length

/** Bytes of JSON text of a record's payloads. */
export const payloadBytesOf = ({ nodeRuns, run }: RunRecord): number => {
  let bytes = bytesOf(run.values) + bytesOf(run.output)
  for (const { input, logs, output } of nodeRuns) {
    bytes += bytesOf(input) + bytesOf(output) + bytesOf(logs)
  }
  return bytes
}

/** The record as it is without its payloads, and marked so. */
export const withoutPayloads = (record: RunRecord): RunRecord => ({
  ...record,
  run: { ...record.run, values: {}, output: null },
  nodeRuns: record.nodeRuns.map((row) => ({ ...row, input: null, output: null, logs: null })),
  omitted: true,
})

/**
 * These records, in order, with payloads as long as all payloads together have at most `mostBytes`.
 * After the first record that exceeds the sum, none has payloads. A record that alone has more than
 * `mostBytes` loses its payloads and does not count.
 */
export const withinBytes = (
  records: ReadonlyArray<RunRecord>,
  mostBytes: number,
): ReadonlyArray<RunRecord> => {
  let sum = 0
  return records.map((record) => {
    const bytes = payloadBytesOf(record)
    if (bytes <= mostBytes) sum += bytes
    return bytes <= mostBytes && sum <= mostBytes ? record : withoutPayloads(record)
  })
}
