/**
 * The hook that tells who else has a workflow open.
 *
 * Guarantees: a page that is hidden for a minute holds no stream, and whoever looks at it is not
 * present. Leaves out: people whose streams have reached another server.
 */
import { useCallback, useEffect, useState, useSyncExternalStore } from "react"
import { useSurroundings } from "./internal/Surroundings.ts"
import type { FollowedWorkflow } from "./model/WorkflowFollower.ts"
import { noWorkflowFollowed } from "./model/WorkflowFollower.ts"

/** How long a page may be hidden before nobody is taken to look at it. */
const hiddenMillis = 60_000

/** False once the page has been hidden for a while. */
const useIsAttended = (): boolean => {
  const [isAttended, setAttended] = useState(true)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = () => {
      clearTimeout(timer)
      if (document.visibilityState !== "hidden") setAttended(true)
      else timer = setTimeout(() => setAttended(false), hiddenMillis)
    }
    look()
    document.addEventListener("visibilitychange", look)
    return () => {
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", look)
    }
  }, [])
  return isAttended
}

const followNothing = () => () => {}

/**
 * Who has a workflow open, the viewer among them, and the revision that is stored. One stream,
 * however many components ask. Where nothing can be told, nobody is there.
 */
export const usePresence = (workflowId: string): FollowedWorkflow => {
  const { workflows } = useSurroundings()
  const isAttended = useIsAttended()
  const subscribe = useCallback(
    (listener: () => void) =>
      isAttended ? workflows.subscribe(workflowId, listener) : followNothing(),
    [isAttended, workflows, workflowId],
  )
  const read = () => (isAttended ? workflows.read(workflowId) : noWorkflowFollowed)
  return useSyncExternalStore(subscribe, read, read)
}
