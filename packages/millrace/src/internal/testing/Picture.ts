/**
 * A run as text, for snapshots of tests.
 *
 * Guarantees: the same for every run that went the same way: no identifiers, and no times unless
 * they are asked for.
 */
import type { Run } from "@millrace/api/PromiseClient"

/** What a picture shows beside states, outputs and errors. */
export interface PictureOptions {
  /** True: when each node began and ended, counted from the creation of the run. */
  readonly times?: boolean
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const

/** `2 h 5 min 5 s`. */
const lengthOf = (millis: number): string => {
  const parts: Array<string> = []
  let left = millis
  for (const [unit, size] of units) {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.length === 0 ? "0 s" : parts.join(" ")
}

/**
 * The run and its nodes as text: states, outputs and errors, a line for each node, in the order of
 * the workflow. The id of the run is shown as `<run>`.
 */
export const picture = (run: Run, { times = false }: PictureOptions = {}): string => {
  const nodes = Object.values(run.nodes)
  const width = (texts: ReadonlyArray<string>) => Math.max(0, ...texts.map(({ length }) => length))
  const ids = width(nodes.map(({ nodeId }) => nodeId))
  const states = width(nodes.map(({ status }) => status))
  const begun = Date.parse(run.createdAt)
  const since = (time: string | null) =>
    time === null ? "-" : `+${lengthOf(Date.parse(time) - begun)}`
  const lines = nodes.map(({ error, finishedAt, nodeId, output, startedAt, status }) => {
    const result = error ?? (output === null ? "" : JSON.stringify(output))
    const when = times && startedAt !== null ? `${since(startedAt)} to ${since(finishedAt)}  ` : ""
    return `  ${nodeId.padEnd(ids)}  ${status.padEnd(states)}  ${when}${result}`.trimEnd()
  })
  const end = run.error === null ? "" : `: ${run.error}`
  return [`${run.workflowName}: ${run.status}${end}`, ...lines]
    .join("\n")
    .replaceAll(run.id, "<run>")
}
