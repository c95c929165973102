/**
 * A listing of runs that follows what happens: the first page, then every run that changed.
 *
 * Guarantees: goes on by itself after a connection that broke. Leaves out: older pages, which are
 * read once.
 */
import type { Client, RunItem } from "@millrace/api/PromiseClient"
import { useEffect, useState } from "react"
import { client } from "./Console.ts"

type Filter = NonNullable<Parameters<Client["runs"]["live"]>[0]>

/** What is known of the listing. */
export interface LiveRuns {
  readonly isPending: boolean
  readonly error: Error | null
  /** False while the connection is away. */
  readonly isLive: boolean
  readonly items: ReadonlyArray<RunItem>
  readonly hasNextPage: boolean
  readonly fetchNextPage: () => void
}

/** A run in its place: newest first, each once. */
export const merged = (
  items: ReadonlyArray<RunItem>,
  changed: ReadonlyArray<RunItem>,
): ReadonlyArray<RunItem> => {
  const all = new Map(items.map((item) => [item.id, item]))
  for (const item of changed) all.set(item.id, item)
  return [...all.values()].toSorted((a, b) =>
    a.createdAt === b.createdAt ? (a.id < b.id ? 1 : -1) : a.createdAt < b.createdAt ? 1 : -1,
  )
}

const nothing = { isPending: true, error: null, isLive: false, items: [], cursor: null }

/** Follows the runs of a filter; another filter begins anew. */
export const useLiveRuns = (filter: Filter): LiveRuns => {
  const key = JSON.stringify(filter)
  const [state, setState] = useState<
    Omit<LiveRuns, "hasNextPage" | "fetchNextPage"> & { readonly cursor: string | null }
  >(nothing)
  useEffect(() => {
    const stop = new AbortController()
    const follow = async () => {
      const wanted = JSON.parse(key) as Filter
      for await (const frame of client.runs.live(wanted, { signal: stop.signal })) {
        if (frame.event === "page") {
          const { items, nextCursor } = frame.data
          setState({ isPending: false, error: null, isLive: true, items, cursor: nextCursor })
        } else {
          setState((now) => ({ ...now, isLive: true, items: merged(now.items, [frame.data]) }))
        }
      }
    }
    const fail = (error: unknown) => {
      if (stop.signal.aborted) return
      setState((now) => ({ ...now, isPending: false, isLive: false, error: error as Error }))
    }
    setState(nothing)
    follow().catch(fail)
    return () => stop.abort()
  }, [key])
  const fetchNextPage = async () => {
    const { cursor } = state
    if (cursor === null) return
    const page = await client.runs.list({ ...(JSON.parse(key) as Filter), cursor })
    setState((now) => ({
      ...now,
      items: merged(now.items, page.items),
      cursor: page.nextCursor,
    }))
  }
  return {
    ...state,
    hasNextPage: state.cursor !== null,
    fetchNextPage: () => void fetchNextPage(),
  }
}
