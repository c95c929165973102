/**
 * The runs that a node has started, as they come and end.
 *
 * Leaves out: showing one of them; whoever embeds the view says how that is opened.
 */
import { useRuns } from "../Hooks.ts"
import { Failure } from "./FailureText.tsx"
import { StateIcon } from "./Icons.tsx"
import styles from "./NodePanel.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

/** The built-in node types that start runs. */
const startingTypes: ReadonlySet<string> = new Set(["sub_workflow", "for_each", "while"])

/** True for a node whose type starts runs. */
export const startsRuns = (nodeType: string): boolean => startingTypes.has(nodeType)

interface ChildRunsProps {
  readonly runId: string
  readonly nodeId: string
  readonly onOpenRun: ((runId: string) => void) | undefined
}

/** Lists the children of a node. */
export const ChildRuns = ({ nodeId, onOpenRun, runId }: ChildRunsProps) => {
  const { messages } = useSurroundings()
  const { error, hasMore, items, loadMore } = useRuns({ parent: runId, limit: 50 }, { live: true })
  const children = items.filter(({ parent }) => parent?.nodeId === nodeId)
  return (
    <section aria-label={messages.childRuns} className={styles.children}>
      <h4>{messages.childRuns}</h4>
      {error === undefined ? null : <Failure error={error} />}
      <ul>
        {children.map(({ error: why, id, parent, status }) => (
          <li key={id}>
            <StateIcon state={status} />
            {onOpenRun === undefined ? (
              <span>{messages.childRun(parent!.index, messages.runStates[status])}</span>
            ) : (
              <button className={theme.button} onClick={() => onOpenRun(id)} type="button">
                {messages.childRun(parent!.index, messages.runStates[status])}
              </button>
            )}
            {why === null ? null : <span className={theme.muted}>{why}</span>}
          </li>
        ))}
      </ul>
      {hasMore ? (
        <button className={theme.button} onClick={() => void loadMore()} type="button">
          {messages.moreChildRuns}
        </button>
      ) : null}
    </section>
  )
}
