/**
 * What a text with expressions would have given in the last run.
 *
 * Guarantees: asked for when somebody is in the field, and again when the text has come to rest.
 */
import { useQuery } from "@tanstack/react-query"
import { useContext } from "react"
import { shortText } from "../../model/editing/internal/NameCompletion.ts"
import { useSurroundings } from "../Surroundings.ts"
import styles from "./Inspector.module.css"
import { NameSourceContext } from "./NameInput.tsx"

/** So many characters of the value are shown. */
const shownLength = 200

/** Shows the value; nothing if there is none. */
export const LastValue = ({ port, text }: { readonly port: string; readonly text: string }) => {
  const { client, messages, queries } = useSurroundings()
  const { nodeId, runId, workflowId } = useContext(NameSourceContext)?.place ?? {}
  const { data } = useQuery(
    {
      queryKey: ["evaluate", runId, nodeId, port, text],
      queryFn: ({ signal }) =>
        client.workflows.evaluate(
          workflowId!,
          { runId: runId!, nodeId: nodeId!, port, text },
          { signal },
        ),
      enabled: runId !== undefined,
      staleTime: Number.POSITIVE_INFINITY,
    },
    queries,
  )
  if (data === undefined || data.problems.length > 0 || !("value" in data)) return null
  return (
    <p className={styles.lastValue}>
      {messages.lastValue} <code dir="auto">{shortText(data.value, shownLength)}</code>
    </p>
  )
}
