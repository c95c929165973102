/**
 * What an approval asks, and the form with which somebody who has signed in decides.
 *
 * Guarantees: what was typed stays until the decision is stored. Leaves out: who may decide; the
 * server refuses, and its sentence is shown.
 */
import type { Approval, Client, NodeRun } from "@millrace/api/PromiseClient"
import { useState } from "react"
import { useApproval } from "../Hooks.ts"
import { Failure, sentenceOf } from "./FailureText.tsx"
import styles from "./NodePanel.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

type Field = Approval["fields"][number]
type Decision = Parameters<Client["approvals"]["decide"]>[2]

/** The built-in node type that asks a person. */
export const approvalType = "approval"

interface ControlProps {
  readonly field: Field
  readonly value: string
  readonly onChange: (value: string) => void
}

const Control = ({ field, onChange, value }: ControlProps) => {
  const { label, name, options = [], type } = field
  return (
    <label>
      {label ?? name}
      {type === "select" ? (
        <select onChange={({ target }) => onChange(target.value)} value={value}>
          {["", ...options].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      ) : type === "boolean" ? (
        <input
          checked={value === "true"}
          onChange={({ target }) => onChange(String(target.checked))}
          type="checkbox"
        />
      ) : (
        <input
          onChange={({ target }) => onChange(target.value)}
          step="any"
          type={type}
          value={value}
        />
      )}
    </label>
  )
}

const typed = ({ type }: Field, text = "") => {
  if (type === "boolean") return text === "true"
  return type === "number" && text !== "" ? Number(text) : text
}

interface QuestionProps {
  readonly approval: Approval
  readonly runId: string
  readonly nodeId: string
}

/** Sends a decision. */
const useDecide = (runId: string, nodeId: string) => {
  const { client } = useSurroundings()
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState("")
  const decide = async (decision: Decision) => {
    setBusy(true)
    setProblem("")
    try {
      await client.approvals.decide(runId, nodeId, decision)
    } catch (error) {
      setProblem(sentenceOf(error))
    } finally {
      setBusy(false)
    }
  }
  return { decide, isBusy, problem }
}

/** What is asked, whom, and until when. */
const Asked = ({ approval }: Pick<QuestionProps, "approval">) => {
  const { messages, times } = useSurroundings()
  const { approvers, description, expiresAt, roles, title } = approval
  const asked = [...approvers.map(({ address }) => address), ...roles].join(", ")
  return (
    <>
      <p>
        <strong>{title}</strong>
      </p>
      {description === "" ? null : <p>{description}</p>}
      <p className={theme.muted}>{messages.asks(asked)}</p>
      {expiresAt === null ? null : (
        <p className={theme.muted}>{messages.expiresAt(times.full(expiresAt))}</p>
      )}
    </>
  )
}

const Question = ({ approval, nodeId, runId }: QuestionProps) => {
  const { messages } = useSurroundings()
  const { fields } = approval
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [comment, setComment] = useState("")
  const { decide, isBusy, problem } = useDecide(runId, nodeId)
  const button = (outcome: Decision["outcome"], label: string) => (
    <button
      className={theme.button}
      disabled={isBusy}
      onClick={() => {
        const given = fields.map((field) => [field.name, typed(field, values[field.name])] as const)
        void decide({ outcome, comment, fields: Object.fromEntries(given) })
      }}
      type="button"
    >
      {label}
    </button>
  )
  return (
    <form
      aria-label={messages.approval}
      className={styles.signal}
      onSubmit={(event) => event.preventDefault()}
    >
      <Asked approval={approval} />
      {fields.map((field) => (
        <Control
          field={field}
          key={field.name}
          onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
          value={values[field.name] ?? ""}
        />
      ))}
      <label>
        {messages.comment}
        <textarea onChange={({ target }) => setComment(target.value)} rows={2} value={comment} />
      </label>
      <div className={styles.decisions}>
        {button("approved", messages.approve)}
        {button("rejected", messages.reject)}
      </div>
      {problem === "" ? null : (
        <p className={theme.failure} role="alert">
          {problem}
        </p>
      )}
    </form>
  )
}

/** The question of a node that waits for a decision. */
export const ApprovalForm = ({
  node,
  runId,
}: {
  readonly node: NodeRun
  readonly runId: string
}) => {
  const { nodeId } = node
  const { data, error } = useApproval(runId, nodeId)
  if (error !== undefined) return <Failure error={error} />
  return data === undefined ? null : <Question approval={data} nodeId={nodeId} runId={runId} />
}
