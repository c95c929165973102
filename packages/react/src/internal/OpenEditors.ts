/**
 * Which editors of this browser are open, in all its tabs.
 *
 * Guarantees: an editor whose tab is closed or has crashed is not open any more, because the
 * browser itself keeps the list. Where pages have no locks, which is so without HTTPS, none counts
 * as open.
 */

const prefix = "millrace-editor/"

/** Says that an editor is open; the answer says that it is not any more. */
export const markOpen = (editorId: string): (() => void) => {
  const stop = new AbortController()
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { locks } = navigator as { readonly locks?: LockManager }
  locks?.request(`${prefix}${editorId}`, { signal: stop.signal }, () => held).catch(() => {})
  return () => {
    stop.abort()
    release()
  }
}

/** The names of the editors that are open. */
export const openEditors = async (): Promise<ReadonlySet<string>> => {
  const { locks } = navigator as { readonly locks?: LockManager }
  const state = await locks?.query().catch(() => undefined)
  const names = [...(state?.held ?? []), ...(state?.pending ?? [])].map(({ name }) => name ?? "")
  return new Set(
    names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)),
  )
}
