/**
 * Something that is read from a server once, for all components that ask for it.
 */
import type { CallOptions } from "@millrace/api/PromiseClient"
import { useQuery } from "@tanstack/react-query"
import { useSurroundings } from "./Surroundings.ts"

/** Something that is read once, and again with `refresh`. */
export interface DataReading<A> {
  /** `undefined` until it has been read. */
  readonly data: A | undefined
  readonly isLoading: boolean
  /** Why it could not be read; usually a `MillraceError`. */
  readonly error: unknown
  readonly refresh: () => Promise<unknown>
}

/** Reads it, unless it is not wanted yet. */
export const useReading = <A>(
  key: ReadonlyArray<unknown>,
  read: (options: CallOptions) => Promise<A>,
  options: { readonly enabled?: boolean; readonly staleTime?: number } = {},
): DataReading<A> => {
  const { queries } = useSurroundings()
  const { data, error, isLoading, refetch } = useQuery(
    { queryKey: key, queryFn: ({ signal }) => read({ signal }), ...options },
    queries,
  )
  return { data, error: error ?? undefined, isLoading, refresh: refetch }
}
