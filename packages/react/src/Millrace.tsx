/**
 * The one component that every other one needs above it: it holds the client, the theme and the
 * texts, and what the components below have read.
 */
import type { Client } from "@millrace/api/PromiseClient"
import { QueryClient } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { useEffect, useMemo } from "react"
import type { Messages } from "./Messages.ts"
import { englishMessages } from "./Messages.ts"
import styles from "./internal/Theme.module.css"
import { readNow } from "./internal/Now.ts"
import { browserDrafts } from "./internal/BrowserDrafts.ts"
import type { Surroundings } from "./internal/Surroundings.ts"
import { SurroundingsContext } from "./internal/Surroundings.ts"
import { timeFormat } from "./internal/TimeFormat.ts"
import { RunFollower } from "./model/RunFollower.ts"
import { WorkflowFollower } from "./model/WorkflowFollower.ts"

/** Light, dark, or as the system of the viewer has it. */
export type Theme = "light" | "dark" | "system"

/** What `<Millrace>` takes. */
export interface MillraceProps {
  /** From `createClient`. Another client is another account: what was read is forgotten. */
  readonly client: Client
  /** `system` by default. */
  readonly theme?: Theme
  /** Texts in the place of the English ones. Keep the object, or it is merged with each drawing. */
  readonly messages?: Partial<Messages>
  /** Of dates; that of the browser by default. */
  readonly locale?: string
  /** Such as `Europe/Berlin`; that of the browser by default. */
  readonly timeZone?: string
  /** Of a Content-Security-Policy, for the styles of the JSON viewer. */
  readonly nonce?: string
  /** The address of the server, without `/api/v1`, for commands to copy. */
  readonly url?: string
  /**
   * Who has signed in, such as an id: unsaved work of editors stays in the browser for this user,
   * also after the tab is closed. Without it, only as long as the tab is open.
   */
  readonly user?: string
  /** The account in which the user works. */
  readonly account?: string
  readonly children?: ReactNode
}

const makeQueries = () =>
  new QueryClient({
    defaultOptions: {
      // An answer of the server is final; the client itself repeats what may be repeated.
      queries: { retry: false, staleTime: 10_000, refetchOnWindowFocus: false },
      mutations: { retry: false },
    },
  })

/** Holds what the components below it share. */
export const Millrace = ({
  account = "",
  children,
  client,
  locale,
  messages,
  nonce,
  theme = "system",
  timeZone,
  url,
  user,
}: MillraceProps) => {
  const read = useMemo(
    () => ({
      queries: makeQueries(),
      runs: new RunFollower({ client, now: readNow }),
      workflows: new WorkflowFollower({ client }),
    }),
    [client],
  )
  useEffect(() => {
    // Streams end when the last component below has let go of them.
    const { queries } = read
    queries.mount()
    return () => queries.unmount()
  }, [read])
  const drafts = useMemo(() => browserDrafts({ account, url, user }), [account, url, user])
  const surroundings = useMemo(
    (): Surroundings => ({
      client,
      ...read,
      drafts,
      messages: { ...englishMessages, ...messages },
      times: timeFormat(locale, timeZone),
      nonce,
      url,
    }),
    [client, read, drafts, messages, locale, timeZone, nonce, url],
  )
  return (
    <SurroundingsContext.Provider value={surroundings}>
      <div className={styles.root} data-millrace-theme={theme}>
        {children}
      </div>
    </SurroundingsContext.Provider>
  )
}
