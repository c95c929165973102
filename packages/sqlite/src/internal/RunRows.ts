/**
 * The rows of runs, node runs and events: what of them is a column, and what is in a JSON text.
 *
 * Guarantees: what is read equals what was written. Leaves out: which rows to read or write.
 */
import type { InputPorts, NodeRunByPorts } from "@millrace/core/domain/ImpliedInput"
import type { Loss } from "@millrace/core/domain/Loss"
import type { NodeRun, Run } from "@millrace/core/domain/Run"
import { isPinned, needsKey } from "@millrace/core/domain/Run"
import { nodeBytesOf, runBytesOf } from "@millrace/core/domain/RunPayload"
import type { Connection } from "./SqliteConnection.ts"

/** The properties of a run that have columns of their own. */
type Columns = Pick<
  Run,
  | "status"
  | "actualCredits"
  | "owner"
  | "fence"
  | "revision"
  | "sequence"
  | "messages"
  | "losses"
  | "dueAt"
  | "active"
  | "triggerId"
  | "priority"
  | "startAt"
  | "concurrencyKey"
  | "concurrency"
>

/** The properties of a run that commits change and that no statement searches. */
type State = Pick<
  Run,
  | "startedAt"
  | "finishedAt"
  | "error"
  | "output"
  | "largeValues"
  | "heldCredits"
  | "childCredits"
  | "nodeRunCount"
  | "attempts"
  | "waiting"
>

/** The properties of a run that are written once. */
type Head = Omit<Run, keyof Columns | keyof State>

const headOf = (run: Run): Head => ({
  id: run.id,
  accountId: run.accountId,
  workflowId: run.workflowId,
  workflowName: run.workflowName,
  workflowRevision: run.workflowRevision,
  workflowVersion: run.workflowVersion,
  definitionId: run.definitionId,
  executionId: run.executionId,
  mode: run.mode,
  source: run.source,
  singleNodeId: run.singleNodeId,
  rerunOf: run.rerunOf,
  parent: run.parent,
  after: run.after,
  keyId: run.keyId,
  createdAt: run.createdAt,
  values: run.values,
  inputOverrides: run.inputOverrides,
  viewport: run.viewport,
  webhook: run.webhook,
  estimatedCredits: run.estimatedCredits,
  maxCredits: run.maxCredits,
})

const stateOf = (run: Run): State => ({
  startedAt: run.startedAt,
  finishedAt: run.finishedAt,
  error: run.error,
  output: run.output,
  largeValues: run.largeValues,
  heldCredits: run.heldCredits,
  childCredits: run.childCredits,
  nodeRunCount: run.nodeRunCount,
  attempts: run.attempts,
  waiting: run.waiting,
})

/** Text for searching: without differences of case. */
export const folded = (text: string): string => text.toLowerCase()

/** The losses of a run as they are stored. */
export const textOfLosses = (losses: ReadonlyArray<Loss>): string | null =>
  losses.length === 0 ? null : JSON.stringify(losses)

/** The losses of a run from their column. */
export const lossesOf = (text: string | null): ReadonlyArray<Loss> =>
  text === null ? [] : (JSON.parse(text) as ReadonlyArray<Loss>)

/** A row of `runs` with the run's head. */
export interface RunRow {
  readonly number: number
  readonly head: string
  readonly active: string
  readonly state: string
  readonly status: Run["status"]
  readonly actual_credits: number
  readonly owner: Run["owner"]
  readonly fence: number
  readonly revision: number
  readonly sequence: number
  readonly messages: number
  readonly losses: string | null
  readonly due_at: number | null
  readonly trigger_id: Run["triggerId"]
  readonly priority: number
  readonly start_at: number | null
  readonly concurrency_key: string | null
  readonly concurrency: number | null
}

/** The columns of a {@link RunRow}, from `runs r` and `run_heads h`. */
export const columns =
  "r.number, h.head, r.active, r.state, r.status, r.actual_credits, r.owner, r.fence, " +
  "r.revision, r.sequence, r.messages, r.losses, r.due_at, r.trigger_id, r.priority, r.start_at, " +
  "r.concurrency_key, r.concurrency"

/** The tables of a {@link RunRow}. */
export const tables = "runs r JOIN run_heads h ON h.run = r.number"

/** What is said of runs that were stored before there were these properties. */
const earlier = { workflowVersion: null, rerunOf: null, parent: null, after: null, childCredits: 0 }

/** A run from its row. */
export const runOf = (row: RunRow): Run => ({
  ...earlier,
  ...(JSON.parse(row.head) as Head),
  ...(JSON.parse(row.state) as State),
  active: JSON.parse(row.active) as Run["active"],
  status: row.status,
  actualCredits: row.actual_credits,
  owner: row.owner,
  fence: row.fence,
  revision: row.revision,
  sequence: row.sequence,
  messages: row.messages,
  losses: lossesOf(row.losses),
  dueAt: row.due_at,
  triggerId: row.trigger_id,
  priority: row.priority,
  startAt: row.start_at,
  concurrencyKey: row.concurrency_key,
  concurrency: row.concurrency,
})

const foldedError = ({ error }: Run): string | null => (error === null ? null : folded(error))

const insertStatement = `INSERT INTO runs (
    id, account_id, workflow_id, workflow_name, name_folded, definition_id, key_id, created_at,
    estimated_credits, actual_credits, status, error_folded, owner, fence, revision, sequence,
    messages, losses, due_at, is_due, payload_bytes, active, state, source, trigger_id,
    parent_id, priority, start_at, parent_node, parent_index, concurrency_key, concurrency,
    needs_key
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    0, NULL, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  RETURNING number`

/** Stores a new run; returns its number. */
export const insert = (db: Connection, run: Run): number => {
  const { number } = db
    .query<{ readonly number: number }>(
      insertStatement,
      run.id,
      run.accountId,
      run.workflowId,
      JSON.stringify(run.workflowName),
      folded(run.workflowName),
      run.definitionId,
      run.keyId,
      run.createdAt,
      run.estimatedCredits,
      run.actualCredits,
      run.status,
      foldedError(run),
      run.owner,
      run.fence,
      run.revision,
      run.sequence,
      run.dueAt,
      runBytesOf(run),
      JSON.stringify(run.active),
      JSON.stringify(stateOf(run)),
      run.source,
      run.triggerId,
      run.parent?.runId ?? null,
      run.priority,
      run.startAt,
      run.parent?.nodeId ?? null,
      run.parent?.index ?? null,
      run.concurrencyKey,
      run.concurrency,
      needsKey(run) ? 1 : 0,
    )
    .first()!
  db.run(`INSERT INTO run_heads (run, head) VALUES (?, ?)`, number, JSON.stringify(headOf(run)))
  return number
}

// A parked run has no owner.
const updateStatement = `UPDATE runs SET status = ?, actual_credits = ?, error_folded = ?,
    revision = ?, sequence = ?, due_at = ?, payload_bytes = ?, active = ?, state = ?, is_due = 0,
    woken_at = NULL, losses = CASE WHEN ? THEN NULL ELSE losses END,
    owner = CASE WHEN ? IS NULL THEN owner END
  WHERE number = ?`

/** Stores what a commit changes of a run. */
export const update = (db: Connection, number: number, run: Run, clearsLosses: boolean): void => {
  db.run(
    updateStatement,
    run.status,
    run.actualCredits,
    foldedError(run),
    run.revision,
    run.sequence,
    run.dueAt,
    runBytesOf(run),
    JSON.stringify(run.active),
    JSON.stringify(stateOf(run)),
    clearsLosses ? 1 : 0,
    run.dueAt,
    number,
  )
}

type Payload = Pick<NodeRun, "input" | "output" | "logs">

/** The part of a node run that is read without its payload, too. */
type NodeFacts = Omit<NodeRun, keyof Payload>

const putNodeStatement = `INSERT INTO node_runs (
    run, node_id, sequence, has_output, payload_bytes, facts, payload
  ) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (run, node_id) DO UPDATE SET sequence = excluded.sequence,
    has_output = excluded.has_output, payload_bytes = excluded.payload_bytes,
    facts = excluded.facts, payload = excluded.payload`

/** Stores or replaces a node run. With `ports`, its input is not stored: it follows from them. */
export const putNode = (
  db: Connection,
  run: number,
  row: NodeRun,
  ports: InputPorts | undefined,
): void => {
  const { input, logs, output, ...facts } = row
  const isImplied = ports !== undefined && input !== null
  const payload = isImplied ? { ports, output, logs } : { input, output, logs }
  db.run(
    putNodeStatement,
    run,
    row.nodeId,
    row.sequence,
    row.status === "COMPLETED" && !isPinned(row) && output !== null ? 1 : 0,
    nodeBytesOf(row),
    JSON.stringify(facts),
    JSON.stringify(payload),
  )
}

/** A row of `node_runs`. Without its payload, if that is not wanted. */
export interface NodeRow {
  readonly facts: string
  readonly payload: string | null
}

/** A node run from its row. */
export const nodeOf = ({ facts, payload }: NodeRow): NodeRunByPorts => {
  const known = JSON.parse(facts) as NodeFacts
  const none = { input: null, output: null, logs: null }
  if (payload === null) return { ...known, ...none }
  const stored = JSON.parse(payload) as Partial<Payload> & { readonly ports?: InputPorts }
  return { ...known, ...none, ...stored }
}
