/**
 * Says how many nodes are pinned, and unpins one or all.
 */
import { Pin, PinOff } from "lucide-react"
import { sentenceOf } from "../FailureText.tsx"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Editor.module.css"
import type { EditorPins } from "./Pins.ts"

/** Of the whole drawing; nothing where no run was asked for. */
export const PinsLine = ({ held }: { readonly held: EditorPins }) => {
  const { messages } = useSurroundings()
  const { error, isRead, pins, tooLarge, unpin } = held
  const ids = Object.keys(pins)
  if (error !== undefined)
    return (
      <p className={theme.failure} role="alert">
        {sentenceOf(error)}
      </p>
    )
  if (!isRead) return null
  return (
    <>
      <span className={styles.status} role="status">
        <Pin aria-hidden size={16} />
        {ids.length === 0 ? messages.nothingPinned : messages.pinnedNodes(ids.length)}
        {tooLarge.length === 0 ? "" : ` ${messages.tooLargeToPin(tooLarge.length)}`}
      </span>
      {ids.length === 0 ? null : (
        <button className={theme.button} onClick={() => unpin(ids)} type="button">
          <PinOff aria-hidden size={16} />
          {messages.unpinAll}
        </button>
      )}
    </>
  )
}

interface PinnedNodeProps {
  readonly label: string
  readonly onUnpin: () => void
}

/** Of one node that is pinned. */
export const PinnedNode = ({ label, onUnpin }: PinnedNodeProps) => {
  const { messages } = useSurroundings()
  return (
    <p className={styles.pinned}>
      <Pin aria-hidden size={16} />
      <span>{messages.pinnedHint}</span>
      <button
        aria-label={messages.unpinNode(label)}
        className={theme.button}
        onClick={onUnpin}
        type="button"
      >
        {messages.unpin}
      </button>
    </p>
  )
}
