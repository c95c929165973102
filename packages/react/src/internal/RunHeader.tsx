/**
 * Above the panels of a run: what it is, how it stands, and what can be done with it.
 */
import type { Run } from "@millrace/api/PromiseClient"
import { Copy, LocateFixed, PencilRuler, Play, RotateCw, Square } from "lucide-react"
import { useState } from "react"
import type { RunReading } from "../Hooks.ts"
import { hasEnded, millisOf } from "../model/LiveRun.ts"
import { curlOf } from "../model/StartCommand.ts"
import { sentenceOf } from "./FailureText.tsx"
import { StateIcon } from "./Icons.tsx"
import { useCopying } from "./JsonView.tsx"
import { useNow } from "./Now.ts"
import styles from "./RunView.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"
import { durationText } from "./TimeFormat.ts"

interface RunHeaderProps {
  readonly run: Run
  readonly reading: RunReading
  readonly isFollowing: boolean
  readonly onFollow: () => void
  readonly onStarted: ((runId: string) => void) | undefined
  readonly onOpenEditor:
    | ((opened: { readonly workflowId: string; readonly runId: string }) => void)
    | undefined
  readonly onOpenRun: ((runId: string) => void) | undefined
  readonly readOnly: boolean
}

/** When a run may start, before whom, and beside which others. */
const useOrder = ({ concurrency, concurrencyKey, priority, startAt, status }: Run) => {
  const { messages, times } = useSurroundings()
  return [
    [
      status === "QUEUED" ? messages.waitsUntil : messages.putOffUntil,
      startAt === undefined ? undefined : times.full(startAt),
    ],
    [messages.priority, priority === undefined ? undefined : String(priority)],
    [
      messages.concurrencyKey,
      concurrencyKey === undefined
        ? undefined
        : messages.keyAndConcurrency(concurrencyKey, concurrency ?? 1),
    ],
  ] as const
}

const Facts = ({ reading, run }: Pick<RunHeaderProps, "reading" | "run">) => {
  const { messages, times } = useSurroundings()
  const { clockOffset } = reading
  const now = useNow(!hasEnded(run)) + clockOffset
  const started = millisOf(run.startedAt)
  const took = started === undefined ? undefined : (millisOf(run.finishedAt) ?? now) - started
  const facts = [
    [messages.created, times.full(run.createdAt)],
    [messages.duration, took === undefined ? undefined : durationText(Math.max(0, took))],
    [messages.credits, String(run.actualCredits)],
    [messages.childCredits, run.childCredits === undefined ? undefined : String(run.childCredits)],
    ...useOrder(run),
    [messages.zone, times.zone],
  ] as const
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  )
}

/** Reads the values that a run was started with; the view itself does not have them. */
const useStart = (run: Run) => {
  const { client } = useSurroundings()
  return async () => {
    const { context, workflowId } = await client.runs.get(run.id)
    return { workflowId, values: context?.values ?? {} }
  }
}

const GoOn = ({ isBusy, onClick }: { isBusy: boolean; onClick: () => void }) => {
  const { messages } = useSurroundings()
  return (
    <button
      className={theme.button}
      disabled={isBusy}
      onClick={onClick}
      title={messages.goOnHint}
      type="button"
    >
      <RotateCw aria-hidden size={16} />
      {messages.goOn}
    </button>
  )
}

const OpenEditor = ({ onOpenEditor, run }: Pick<RunHeaderProps, "onOpenEditor" | "run">) => {
  const { messages } = useSurroundings()
  if (onOpenEditor === undefined) return null
  return (
    <button
      className={theme.button}
      onClick={() => onOpenEditor({ workflowId: run.workflowId, runId: run.id })}
      title={messages.openInEditorHint}
      type="button"
    >
      <PencilRuler aria-hidden size={16} />
      {messages.openInEditor}
    </button>
  )
}

/** True for a run of a whole graph that has ended before all of it was executed. */
const needsMore = ({ mode, status }: Run): boolean =>
  mode !== "single" && (status === "FAILED" || status === "CANCELED")

const Actions = (props: RunHeaderProps) => {
  const { isFollowing, onFollow, onStarted, readOnly, run } = props
  const { client, messages, url } = useSurroundings()
  const [said, copy] = useCopying()
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState("")
  const startOf = useStart(run)
  const act = (action: () => Promise<unknown>) => () => {
    setBusy(true)
    setProblem("")
    void action()
      .catch((error: unknown) => setProblem(sentenceOf(error)))
      .finally(() => setBusy(false))
  }
  const isOpen = !hasEnded(run)
  const again = act(async () => onStarted?.((await client.runs.start(await startOf())).id))
  const goOn = act(async () => onStarted?.((await client.runs.rerun(run.id)).id))
  const cancel = act(() => client.runs.cancel(run.id))
  const copyCurl = act(async () => copy(curlOf(url ?? location.origin, await startOf())))
  return (
    <div aria-label={messages.actions} className={styles.actions} role="group">
      <button
        aria-pressed={isFollowing}
        className={theme.button}
        onClick={onFollow}
        title={messages.followHint}
        type="button"
      >
        <LocateFixed aria-hidden size={16} />
        {messages.follow}
      </button>
      {readOnly || !isOpen ? null : (
        <button className={theme.button} disabled={isBusy} onClick={cancel} type="button">
          <Square aria-hidden size={16} />
          {messages.cancel}
        </button>
      )}
      {readOnly || !needsMore(run) ? null : <GoOn isBusy={isBusy} onClick={goOn} />}
      {readOnly ? null : (
        <button
          className={theme.button}
          disabled={isBusy}
          onClick={again}
          title={messages.runAgainHint}
          type="button"
        >
          <Play aria-hidden size={16} />
          {messages.runAgain}
        </button>
      )}
      {isOpen ? null : <OpenEditor {...props} />}
      <button className={theme.button} disabled={isBusy} onClick={copyCurl} type="button">
        <Copy aria-hidden size={16} />
        {messages.copyCurl}
      </button>
      <span aria-live="polite">{said}</span>
      {problem === "" ? null : (
        <p className={theme.failure} role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

/** Says which node of which run, or the end of which run, has started this one. */
const Parent = ({
  onOpenRun,
  run: { after, parent },
}: Pick<RunHeaderProps, "onOpenRun" | "run">) => {
  const { messages } = useSurroundings()
  const other = parent ?? after
  if (other === undefined) return null
  const said = parent === undefined ? messages.startedByEnd : messages.startedByNode(parent.nodeId)
  if (onOpenRun === undefined) return <p className={theme.sentence}>{said}</p>
  return (
    <p className={theme.sentence}>
      {said}{" "}
      <button className={theme.button} onClick={() => onOpenRun(other.runId)} type="button">
        {messages.openParent}
      </button>
    </p>
  )
}

/** Shows the head of a run. */
export const RunHeader = (props: RunHeaderProps) => {
  const { messages } = useSurroundings()
  const { reading, run } = props
  return (
    <header className={styles.head}>
      <div className={styles.title}>
        <StateIcon size={20} state={run.status} />
        <h2 dir="auto">{run.workflowName}</h2>
        <span aria-live="polite" className={styles.status}>
          {messages.runStates[run.status]}
        </span>
        {reading.isLive ? <span className={styles.live}>{messages.live}</span> : null}
      </div>
      <Parent {...props} />
      <Facts {...props} />
      <Actions {...props} />
      {run.error === null ? null : <p className={theme.failure}>{run.error}</p>}
    </header>
  )
}
