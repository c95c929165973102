/**
 * What a listing shows while it is read, when it failed, when it is empty, and the button for more.
 */
import type { ReactNode } from "react"
import { sentenceOf } from "../Console.ts"
import { Notice } from "./Notice.tsx"

/** A query of a listing; page by page, or all at once. */
interface Reading {
  readonly isPending: boolean
  readonly error: Error | null
  readonly hasNextPage?: boolean
  readonly isFetchingNextPage?: boolean
  readonly fetchNextPage?: () => unknown
}

/** A listing: its items, or why there are none. */
export const Listed = ({
  children,
  count,
  empty,
  query,
}: {
  readonly query: Reading
  readonly count: number
  /** What to say, and to do, where there is nothing. */
  readonly empty: ReactNode
  readonly children: ReactNode
}) => {
  if (query.error !== null) return <Notice kind="error">{sentenceOf(query.error)}</Notice>
  if (query.isPending) return <p className="quiet">Loading</p>
  // A page without items may have others behind it.
  if (count === 0 && query.hasNextPage !== true) return <div className="empty">{empty}</div>
  return (
    <>
      {children}
      {query.hasNextPage === true && (
        <button
          type="button"
          disabled={query.isFetchingNextPage === true}
          onClick={() => void query.fetchNextPage?.()}
        >
          Show more
        </button>
      )}
    </>
  )
}
