/**
 * Selecting several nodes without a keyboard: while it is on, a tap or a click adds to the
 * selection, and a drag on the canvas draws a box.
 */
import { useStoreApi } from "@xyflow/react"
import { useEffect, useState } from "react"

/** Whether it is on. Stands inside of a `ReactFlowProvider`. */
export const useSeveralAtOnce = () => {
  const store = useStoreApi()
  const [isOn, setOn] = useState(false)
  useEffect(() => {
    store.setState({ multiSelectionActive: isOn })
  }, [isOn, store])
  return { isOn, toggle: () => setOn(!isOn) }
}

/** What the button and the canvas use of it. */
export type SeveralAtOnce = ReturnType<typeof useSeveralAtOnce>
