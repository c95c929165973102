/**
 * A dialog of the browser: it keeps the focus, closes with Escape, and gives the focus back.
 */
import { X } from "lucide-react"
import type { ReactNode } from "react"
import { useEffect, useId, useRef } from "react"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Saving.module.css"

interface EditorDialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A dialog that is open as long as it is rendered. */
export const EditorDialog = ({ children, onClose, title }: EditorDialogProps) => {
  const { messages } = useSurroundings()
  const place = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = place.current
    if (dialog?.open === false) dialog.showModal()
  }, [])
  return (
    <dialog
      aria-labelledby={id}
      className={styles.dialog}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      // Keys are the dialog's, not those of the canvas behind it.
      onKeyDown={(event) => event.stopPropagation()}
      ref={place}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button
          aria-label={messages.closeDialog}
          className={theme.button}
          onClick={onClose}
          type="button"
        >
          <X aria-hidden size={18} />
        </button>
      </header>
      <div className={styles.body}>{children}</div>
    </dialog>
  )
}
