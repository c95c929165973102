/**
 * The connection to the server: the client of the console, who is signed in, and what is cached.
 *
 * Guarantees: every address is relative to the page, so the app works at any base path. An
 * operator's requests name the account that was chosen. Leaves out: pages.
 */
import type { ConsoleClient, SignedIn } from "@millrace/api/ConsoleClient"
import { createConsoleClient } from "@millrace/api/ConsoleClient"
import { MillraceError } from "@millrace/api/PromiseClient"
import { QueryClient, useQuery } from "@tanstack/react-query"
import { useSyncExternalStore } from "react"

/** The server: what stands before `/dashboard`. */
export const serverUrl = new URL("..", document.baseURI).href.replace(/\/$/, "")

/** The path of the dashboard, without a slash at its end. */
export const basePath = new URL(document.baseURI).pathname.replace(/\/$/, "")

const accountKey = "millrace.account"
const listeners = new Set<() => void>()

/** The account that an operator looks at; of others, nothing is chosen. */
export const chosenAccount = {
  get: (): string | undefined => sessionStorage.getItem(accountKey) ?? undefined,
  set: (id: string | undefined): void => {
    if (id === undefined) sessionStorage.removeItem(accountKey)
    else sessionStorage.setItem(accountKey, id)
    queries.clear()
    for (const listener of listeners) listener()
  },
}

/** {@link chosenAccount}, for components. */
export const useChosenAccount = (): string | undefined =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, chosenAccount.get)

/** All operations of the console. */
export const client: ConsoleClient = createConsoleClient({
  url: serverUrl,
  credentials: "same-origin",
  account: chosenAccount.get,
})

/** True for an answer that says nobody is signed in. */
export const isSignedOut = (error: unknown): boolean =>
  error instanceof MillraceError && error.status === 401

/** What was read lately. A refused request is not repeated. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) =>
        count < 3 && !(error instanceof MillraceError && (error.status ?? 500) < 500),
    },
  },
})

// A session that ends somewhere ends everywhere: the next look shows the sign-in page.
queries.getQueryCache().subscribe(({ query }) => {
  if (query.queryKey[0] !== "session" && isSignedOut(query.state.error)) {
    void queries.invalidateQueries({ queryKey: ["session"] })
  }
})

/** Who is signed in, if anybody, and what signs people in. */
export const useSignedIn = () =>
  useQuery<SignedIn>({
    queryKey: ["session"],
    staleTime: 60_000,
    queryFn: () => client.session.find(),
  })

/** Who is signed in; `null` if nobody is. */
export const useSession = () => {
  const { data, error, isPending } = useSignedIn()
  return { data: data?.session ?? null, error, isPending }
}

/** All node types. They change only with the server, so a tab reads them once. */
export const useNodeTypes = () =>
  useQuery({
    queryKey: ["node-types"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => client.nodeTypes.list(),
  })

const ranks = { viewer: 0, editor: 1, owner: 2, operator: 3 }

/** Whether the signed-in person may do what this role may do. */
export const useMay = (role: keyof typeof ranks): boolean => {
  const { data } = useSession()
  return data !== null && ranks[data.role] >= ranks[role]
}

/** The sentence of an error. */
export const sentenceOf = (error: unknown): string =>
  error instanceof MillraceError
    ? error.message
    : "The server does not answer. Is it running, and is this machine online?"
