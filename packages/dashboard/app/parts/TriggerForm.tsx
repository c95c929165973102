/**
 * The frame of a form that makes or changes a trigger.
 *
 * Guarantees: what the server refuses is said in its words, and what was typed stays.
 */
import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { useState } from "react"
import { sentenceOf } from "../Console.ts"
import { Dialog } from "./Dialog.tsx"
import { Notice } from "./Notice.tsx"
import { refreshTriggers } from "./TriggerSwitch.tsx"

interface TriggerFormProps<Body> {
  readonly title: string
  readonly workflowId: string
  /** What the server is asked for. Throws if something that should be JSON is not. */
  readonly read: () => Body
  /** What is said when that throws. */
  readonly notJson: string
  readonly save: (body: Body) => Promise<unknown>
  /** True while something is still to be chosen. */
  readonly isUnfinished?: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/** The fields in a dialog, with the buttons. */
export const TriggerForm = <Body,>(props: TriggerFormProps<Body>) => {
  const { children, isUnfinished = false, notJson, onClose, read, save, title, workflowId } = props
  const [isOdd, setIsOdd] = useState(false)
  const { error, isPending, mutate } = useMutation({
    mutationFn: save,
    onSuccess: async () => {
      await refreshTriggers(workflowId)
      onClose()
    },
  })
  const submit = () => {
    setIsOdd(false)
    try {
      mutate(read())
    } catch {
      setIsOdd(true)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        {children}
        {isOdd && <Notice kind="error">{notJson}</Notice>}
        {error !== null && <Notice kind="error">{sentenceOf(error)}</Notice>}
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={isPending || isUnfinished}>
            Save
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
