/**
 * What of a run's record can be large: the values and the output of the run, and the input, output
 * and logs of its nodes.
 *
 * Guarantees: pure; a store that keeps JSON as text counts the same bytes. Leaves out: errors and
 * names, which are bounded, and the definition, which is not part of what is told of a run.
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
 * These records, of which only so many keep their payloads as have at most so many bytes together,
 * in their order. One that has more alone stands in nobody's way.
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
