/**
 * A dialog of the browser: it keeps the focus, closes with Escape, and gives the focus back.
 */
import { X } from "lucide-react"
import type { ReactNode } from "react"
import { useEffect, useId, useRef } from "react"

/** A dialog that is open as long as it is rendered. */
export const Dialog = ({
  children,
  mayClose = true,
  onClose,
  title,
}: {
  readonly title: string
  readonly children: ReactNode
  /** False: only what is in the dialog closes it. */
  readonly mayClose?: boolean
  readonly onClose: () => void
}) => {
  const place = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = place.current!
    if (!dialog.open) dialog.showModal()
  }, [])
  return (
    <dialog
      ref={place}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (mayClose) onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {mayClose && (
          <button type="button" className="icon" aria-label="Close" onClick={onClose}>
            <X aria-hidden size={18} />
          </button>
        )}
      </header>
      {children}
    </dialog>
  )
}
