/**
 * Sends the signal that a node of a run waits for.
 *
 * Guarantees: what was typed stays until the signal is sent. Leaves out: who may send one; the
 * server refuses.
 */
import type { Client, NodeRun } from "@millrace/api/PromiseClient"
import { Send } from "lucide-react"
import { useState } from "react"
import { sentenceOf } from "./FailureText.tsx"
import styles from "./NodePanel.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

type Payload = Parameters<Client["runs"]["signal"]>[2]

/** The name that the node waits for, where it is no expression. */
const nameOf = ({ input }: NodeRun): string =>
  typeof input?.["name"] === "string" ? input["name"] : ""

/** A form for the name of the signal and its payload as JSON. */
export const SignalForm = ({ node, runId }: { readonly node: NodeRun; readonly runId: string }) => {
  const { client, messages } = useSurroundings()
  const [name, setName] = useState(nameOf(node))
  const [text, setText] = useState("{}")
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState("")
  const send = async () => {
    setBusy(true)
    setProblem("")
    try {
      await client.runs.signal(runId, name, JSON.parse(text) as Payload)
    } catch (error) {
      setProblem(error instanceof SyntaxError ? messages.noJson(error.message) : sentenceOf(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      aria-label={messages.sendSignal}
      className={styles.signal}
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <p>{messages.waitsForSignal}</p>
      <label>
        {messages.signalName}
        <input onChange={({ target }) => setName(target.value)} required value={name} />
      </label>
      <label>
        {messages.signalPayload}
        <textarea
          onChange={({ target }) => setText(target.value)}
          rows={3}
          spellCheck={false}
          value={text}
        />
      </label>
      <button className={theme.button} disabled={isBusy} type="submit">
        <Send aria-hidden size={16} />
        {messages.sendSignal}
      </button>
      {problem === "" ? null : (
        <p className={theme.failure} role="alert">
          {problem}
        </p>
      )}
    </form>
  )
}
