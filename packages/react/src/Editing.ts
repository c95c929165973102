/**
 * The hook of an editor: one open workflow with its document, its history and its saving.
 *
 * Guarantees: nothing is saved from a hidden tab, and unsaved work stays in the browser. Leaves
 * out: drawing.
 */
import { useEffect, useMemo, useSyncExternalStore } from "react"
import { lastingStorage } from "./internal/BrowserDrafts.ts"
import { markOpen, openEditors } from "./internal/OpenEditors.ts"
import { newEditorId } from "./internal/EditorId.ts"
import { readNow } from "./internal/Now.ts"
import { useSurroundings } from "./internal/Surroundings.ts"
import { clearDraftsIn, hasDraftsIn } from "./model/editing/DraftStore.ts"
import type { EditingSnapshot } from "./model/editing/WorkflowEditing.ts"
import { WorkflowEditing } from "./model/editing/WorkflowEditing.ts"

/** An open editor, and what it knows now. */
export interface EditingReading extends EditingSnapshot {
  /** What does commands. The same object as long as the workflow is the same. */
  readonly editing: WorkflowEditing
}

const schedule = (work: () => void, millis: number) => {
  const timer = setTimeout(work, millis)
  return () => clearTimeout(timer)
}

const isVisible = () => document.visibilityState !== "hidden"

/** Tells an editor what happens to its page. */
const attend = (editing: WorkflowEditing): (() => void) => {
  const stop = new AbortController()
  const { signal } = stop
  const onVisible = () => (isVisible() ? editing.wake() : editing.keepDraft())
  document.addEventListener("visibilitychange", onVisible, { signal })
  window.addEventListener("online", () => editing.wake(), { signal })
  window.addEventListener("pagehide", () => editing.keepDraft(), { signal })
  const onLeave = (event: BeforeUnloadEvent) => {
    editing.keepDraft()
    // The browser asks in its own words.
    if (editing.read().isUnsaved) event.preventDefault()
  }
  window.addEventListener("beforeunload", onLeave, { signal })
  editing.open()
  return () => {
    stop.abort()
    editing.close()
  }
}

/**
 * Opens a workflow for editing. Call it once for an editor and hand the result to its parts: two
 * calls are two editors, as in two tabs. `onSaved` is called with each revision that was saved.
 */
export const useEditing = (
  workflowId: string,
  { onSaved }: { readonly onSaved?: ((etag: string) => void) | undefined } = {},
): EditingReading => {
  const { client, drafts } = useSurroundings()
  const heard = useMemo((): { onSaved?: ((etag: string) => void) | undefined } => ({}), [])
  useEffect(() => {
    heard.onSaved = onSaved
  }, [heard, onSaved])
  const editorId = useMemo(newEditorId, [workflowId])
  const editing = useMemo(
    () =>
      new WorkflowEditing({
        client,
        workflowId,
        drafts,
        editorId,
        openEditors,
        now: readNow,
        schedule,
        isVisible,
        onSaved: (etag) => heard.onSaved?.(etag),
      }),
    [client, workflowId, drafts, editorId, heard],
  )
  useEffect(() => {
    const leave = markOpen(editorId)
    const end = attend(editing)
    return () => {
      end()
      leave()
    }
  }, [editing, editorId])
  const snapshot = useSyncExternalStore(editing.subscribe, editing.read, editing.read)
  return { editing, ...snapshot }
}

/** True if this browser has unsaved work of a user. Ask before you sign the user out. */
export const hasDrafts = (user: string): boolean => hasDraftsIn(lastingStorage(), user)

/** Removes all unsaved work of a user from this browser, for an explicit sign-out. */
export const clearDrafts = (user: string): void => clearDraftsIn(lastingStorage(), user)
