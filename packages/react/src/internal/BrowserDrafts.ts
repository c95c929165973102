/**
 * Where a browser keeps unsaved work.
 *
 * Guarantees: without a user, nothing outlasts the tab, because nobody knows who sits there next.
 */
import type { DraftStorage } from "../model/editing/DraftStore.ts"
import { DraftStore } from "../model/editing/DraftStore.ts"

/** Reading `localStorage` throws where a browser forbids it. */
const opened = (open: () => DraftStorage): DraftStorage | undefined => {
  try {
    return open()
  } catch {
    return undefined
  }
}

/** The storage that outlasts a tab. */
export const lastingStorage = (): DraftStorage | undefined => opened(() => localStorage)

/** Whose work it is. */
export interface BrowserUser {
  readonly account: string
  /** The address of the server; that of the page by default. */
  readonly url: string | undefined
  readonly user: string | undefined
}

/** The drafts of a user in this browser. */
export const browserDrafts = ({ account, url, user }: BrowserUser): DraftStore => {
  const storage = user === undefined ? opened(() => sessionStorage) : lastingStorage()
  const server = url ?? globalThis.location?.origin ?? ""
  return new DraftStore(storage, { account, server, user: user ?? "" })
}
