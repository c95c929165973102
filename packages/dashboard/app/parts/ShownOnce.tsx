/**
 * Shows what the server tells once, such as a key. It closes only when somebody says it is kept.
 */
import { useState } from "react"
import { CopyButton } from "./CopyButton.tsx"
import { Dialog } from "./Dialog.tsx"

/** A text that is not shown again; `noun` says what it is: `key`. */
export const ShownOnce = ({
  noun,
  onClose,
  text,
}: {
  readonly noun: string
  readonly text: string
  readonly onClose: () => void
}) => {
  const [isKept, setIsKept] = useState(false)
  return (
    <Dialog title={`Your new ${noun}`} mayClose={false} onClose={onClose}>
      <p>Copy the {noun} now. It is not shown again.</p>
      <output className="secret">{text}</output>
      <CopyButton text={text} label={`Copy the ${noun}`} />
      <label className="check">
        <input
          type="checkbox"
          checked={isKept}
          onChange={({ target }) => setIsKept(target.checked)}
        />
        I have kept the {noun}
      </label>
      <footer>
        <button type="button" className="primary" disabled={!isKept} onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  )
}
