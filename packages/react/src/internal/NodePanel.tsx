/**
 * All of one node of a run: input, output, log, and what else is known of it.
 *
 * Guarantees: it is read when it is opened, and a large value when that is asked for.
 */
import type { NodeRun } from "@millrace/api/PromiseClient"
import type { ReactNode } from "react"
import { useState } from "react"
import { useNodeRun, useValue } from "../Hooks.ts"
import type { CanvasBox } from "../model/CanvasBox.ts"
import { attemptsOf } from "../model/LoggedLines.ts"
import { ApprovalForm, approvalType } from "./ApprovalForm.tsx"
import { ChildRuns, startsRuns } from "./ChildRuns.tsx"
import { Failure } from "./FailureText.tsx"
import { StateIcon } from "./Icons.tsx"
import { JsonView } from "./JsonView.tsx"
import { LogView } from "./LogView.tsx"
import styles from "./NodePanel.module.css"
import { RerunFrom } from "./RerunFrom.tsx"
import { SignalForm } from "./SignalForm.tsx"
import { useSurroundings } from "./Surroundings.ts"
import { Tabs } from "./Tabs.tsx"
import theme from "./Theme.module.css"
import { durationText } from "./TimeFormat.ts"

type Part = "output" | "input" | "logs" | "details"
type Placed = NonNullable<NodeRun["largeValues"]>[number]

const LargeValue = ({ placed, runId }: { placed: Placed; runId: string }) => {
  const { messages } = useSurroundings()
  const [isOpen, setOpen] = useState(false)
  const { data, error } = useValue(runId, placed.id, isOpen)
  const label = messages.largeValue(placed.at, messages.bytes(placed.bytes))
  return (
    <div className={styles.large}>
      <p>{label}</p>
      {isOpen ? null : (
        <button className={theme.button} onClick={() => setOpen(true)} type="button">
          {messages.showValue}
        </button>
      )}
      {data === undefined ? null : <JsonView label={label} value={data} />}
      {error === undefined ? null : <Failure error={error} />}
    </div>
  )
}

interface PayloadProps {
  readonly node: NodeRun
  readonly part: "input" | "output"
  readonly runId: string
}

const Payload = ({ node, part, runId }: PayloadProps) => {
  const { messages } = useSurroundings()
  const large = node.largeValues?.filter(({ at }) => at.startsWith(`/${part}`)) ?? []
  const value = node[part]
  const nothing = part === "input" ? messages.noInput : messages.noOutput
  if (value === null && large.length === 0) return <p className={theme.sentence}>{nothing}</p>
  return (
    <>
      {value === null ? null : <JsonView label={messages[part]} value={value} />}
      {large.map((placed) => (
        <LargeValue key={placed.id} placed={placed} runId={runId} />
      ))}
    </>
  )
}

const Details = ({ node }: { node: NodeRun }) => {
  const { messages, times } = useSurroundings()
  const { attempt, credits, dueAt, finishedAt, logs, nodeType, skipReason, startedAt } = node
  const time = (at: string | null) => (at === null ? null : times.full(at))
  const took =
    startedAt === null || finishedAt === null
      ? null
      : Date.parse(finishedAt) - Date.parse(startedAt)
  const rows: ReadonlyArray<readonly [string, ReactNode]> = [
    [messages.status, messages.nodeStates[node.status]],
    [messages.type, nodeType],
    [messages.whySkipped, skipReason],
    [messages.started, time(startedAt)],
    [messages.finished, time(finishedAt)],
    [messages.duration, took === null ? null : durationText(took)],
    [messages.waitsUntil, time(dueAt)],
    [messages.attemptsTitle, attempt === 0 ? null : attempt],
    [messages.credits, credits],
  ]
  const attempts = attemptsOf(logs ?? [])
  return (
    <>
      <dl className={styles.facts}>
        {rows.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
      {attempts.length === 0 ? null : (
        <ol aria-label={messages.attemptsTitle} className={styles.attempts}>
          {attempts.map((each) => (
            <li key={each.attempt}>
              <strong>{messages.attempt(each.attempt)}</strong>{" "}
              <span className={theme.muted}>
                {times.exact(each.from)} – {times.exact(each.to)}
              </span>
              {each.error === undefined ? null : <p className={theme.failure}>{each.error}</p>}
            </li>
          ))}
        </ol>
      )}
    </>
  )
}

/** The built-in node type that waits for a signal. */
const signalType = "wait_signal"

interface NodePanelProps {
  /** True if the viewer may send no signal. */
  readonly readOnly?: boolean
  readonly runId: string
  readonly nodeId: string | undefined
  readonly box: Pick<CanvasBox, "label"> | undefined
  /** Called with the id of a rerun from this node; without it, none is offered. */
  readonly onStarted?: ((runId: string) => void) | undefined
  /** Called with the id of a run that the node has started, to open it. */
  readonly onOpenRun?: ((runId: string) => void) | undefined
}

const Body = ({ node, part, runId }: { node: NodeRun; part: Part; runId: string }) => {
  switch (part) {
    case "input":
    case "output":
      return <Payload node={node} part={part} runId={runId} />
    case "logs":
      return <LogView lines={node.logs ?? []} name={`${runId}-${node.nodeId}`} />
    case "details":
      return <Details node={node} />
  }
}

/** Shows a node, or says how to choose one. */
export const NodePanel = (props: NodePanelProps) => {
  const { box, nodeId, onOpenRun, onStarted, readOnly = false, runId } = props
  const { messages } = useSurroundings()
  const [part, setPart] = useState<Part>("output")
  const { data: node, error } = useNodeRun(runId, nodeId)
  if (nodeId === undefined) return <p className={theme.sentence}>{messages.chooseNode}</p>
  const waitsFor = (type: string) =>
    !readOnly && node?.status === "WAITING" && node.nodeType === type ? node : undefined
  const [signaled, asking] = [waitsFor(signalType), waitsFor(approvalType)]
  const tabs = (["output", "input", "logs", "details"] as const).map((key) => ({
    key,
    label: messages[key],
  }))
  return (
    <div className={styles.panel}>
      <header>
        {node === undefined ? null : <StateIcon state={node.status} />}
        <h3 dir="auto">{box?.label ?? nodeId}</h3>
        <span className={theme.muted}>
          {node === undefined ? "" : messages.nodeStates[node.status]}
        </span>
      </header>
      {node === undefined || node.error === null ? null : (
        <p className={theme.failure} role="alert">
          {node.error}
        </p>
      )}
      {node === undefined || node.skipReason === null ? null : (
        <p className={theme.sentence}>
          {messages.whySkipped}: {node.skipReason}
        </p>
      )}
      {error === undefined ? null : <Failure error={error} />}
      {readOnly || onStarted === undefined || node === undefined ? null : (
        <RerunFrom key={`${runId} ${nodeId}`} nodeId={nodeId} onStarted={onStarted} runId={runId} />
      )}
      {signaled && <SignalForm key={signaled.nodeId} node={signaled} runId={runId} />}
      {asking && <ApprovalForm key={asking.nodeId} node={asking} runId={runId} />}
      {node === undefined || node.attempt === 0 || !startsRuns(node.nodeType) ? null : (
        <ChildRuns key={nodeId} node={node} onOpenRun={onOpenRun} runId={runId} />
      )}
      <Tabs chosen={part} label={messages.nodeDetails} onChoose={setPart} tabs={tabs}>
        {node === undefined ? (
          <p className={theme.sentence}>{error === undefined ? messages.loading : ""}</p>
        ) : (
          <Body key={node.nodeId} node={node} part={part} runId={runId} />
        )}
      </Tabs>
    </div>
  )
}
