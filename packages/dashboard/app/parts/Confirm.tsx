/**
 * Asks before something that cannot be taken back.
 */
import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { sentenceOf } from "../Console.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"

/** A question, and the button that does it. */
export const Confirm = ({
  act,
  action,
  children,
  onClose,
  title,
}: {
  readonly title: string
  /** The word on the button: `Revoke`. */
  readonly action: string
  readonly act: () => Promise<unknown>
  readonly onClose: () => void
  readonly children: ReactNode
}) => {
  const { error, isPending, mutate } = useMutation({ mutationFn: act, onSuccess: onClose })
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
      <footer>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" disabled={isPending} onClick={() => mutate()}>
          {action}
        </button>
      </footer>
    </Dialog>
  )
}
