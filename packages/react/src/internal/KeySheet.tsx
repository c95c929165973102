/**
 * The sheet of keys, and the switch that turns them off.
 */
import { X } from "lucide-react"
import { useEffect, useRef } from "react"
import { commandKey } from "./CanvasKeys.ts"
import styles from "./KeySheet.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

interface KeySheetProps {
  readonly hasHistory: boolean
  readonly isOn: boolean
  readonly onSwitch: (isOn: boolean) => void
  readonly onClose: () => void
}

type Use = keyof ReturnType<typeof useSurroundings>["messages"]["keyOf"]

const keysOf = (command: string): ReadonlyArray<readonly [Use, string]> => [
  ["palette", "/"],
  ["join", "Enter"],
  ["move", "← ↑ → ↓"],
  ["rename", "F2"],
  ["disable", "E"],
  ["frame", "G"],
  ["remove", "Delete"],
  ["duplicate", `${command} D`],
  ["copy", `${command} C`],
  ["cut", `${command} X`],
  ["paste", `${command} V`],
  ["all", `${command} A`],
  ["box", "Shift"],
  ["undo", `${command} Z`],
  ["redo", `${command} Shift Z`],
  ["fit", "F"],
  ["end", "Esc"],
  ["sheet", "?"],
]

/** Shows the keys. */
export const KeySheet = ({ hasHistory, isOn, onClose, onSwitch }: KeySheetProps) => {
  const { messages } = useSurroundings()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const uses = keysOf(commandKey(navigator.platform))
  const shown = uses.filter(([use]) => hasHistory || (use !== "undo" && use !== "redo"))
  return (
    <dialog
      aria-label={messages.keys}
      className={styles.sheet}
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()}
      ref={dialog}
    >
      <div className={styles.head}>
        <h2>{messages.keys}</h2>
        <button
          aria-label={messages.close}
          className={theme.button}
          onClick={() => dialog.current?.close()}
          type="button"
        >
          <X aria-hidden size={18} />
        </button>
      </div>
      <label>
        <input checked={isOn} onChange={({ target }) => onSwitch(target.checked)} type="checkbox" />
        {messages.useKeys}
      </label>
      <dl>
        {shown.map(([use, keys]) => (
          <div key={use}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{messages.keyOf[use]}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  )
}
