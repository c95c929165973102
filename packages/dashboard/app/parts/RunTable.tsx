/**
 * Runs as rows.
 */
import type { RunItem } from "@millrace/api/PromiseClient"
import { Link } from "wouter"
import { durationText, numberText, timeText, timeZone } from "../Words.ts"
import { Status } from "./Status.tsx"

/** What a waiting run waits for, and how urgent it is; empty for others. */
const orderText = ({ concurrencyKey, priority, startAt, status }: RunItem): string =>
  status !== "QUEUED"
    ? ""
    : [
        startAt === undefined ? "" : `until ${timeText(startAt)}`,
        priority === undefined ? "" : `priority ${priority}`,
        concurrencyKey === undefined ? "" : `key ${concurrencyKey}`,
      ]
        .filter((part) => part !== "")
        .join(", ")

/** Runs, newest first. */
export const RunTable = ({
  caption,
  runs,
}: {
  readonly caption: string
  readonly runs: ReadonlyArray<RunItem>
}) => (
  <div className="scroll" tabIndex={0} role="region" aria-label={caption}>
    <table>
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Workflow</th>
          <th scope="col">Created ({timeZone})</th>
          <th scope="col">Took</th>
          <th scope="col">Source</th>
          <th scope="col" className="number">
            Credits
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.id}>
            <td>
              <Link href={`/runs/${run.id}`} aria-label={`Run ${run.id}, ${run.status}`}>
                <Status of={run.status} />
              </Link>
            </td>
            <td dir="auto">
              {run.workflowName}
              {orderText(run) !== "" && <div className="quiet clamp">Waits: {orderText(run)}</div>}
              {run.error !== null && <div className="error clamp">{run.error}</div>}
            </td>
            <td>
              <time dateTime={run.createdAt}>{timeText(run.createdAt)}</time>
            </td>
            <td>{durationText(run.startedAt, run.finishedAt)}</td>
            <td>{run.source}</td>
            <td className="number">{numberText(run.actualCredits)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
