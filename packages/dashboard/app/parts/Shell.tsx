/**
 * Navigation around a page: beside it on a wide screen, behind a button on a phone.
 */
import type { SessionItem as Session } from "@millrace/api/ConsoleClient"
import { LogOut, Menu, Search } from "lucide-react"
import type { ReactNode } from "react"
import { lazy, Suspense, useCallback, useEffect, useState } from "react"
import { Link, useLocation } from "wouter"
import { client, queries, useChosenAccount, useSignedIn } from "../Console.ts"
import type { Entry } from "../Entries.ts"
import { entriesOf } from "../Entries.ts"
import { draftUserOf } from "../DraftUser.ts"
import { AccountChoice } from "./AccountChoice.tsx"
import { Confirm } from "./Confirm.tsx"
import { Notice } from "./Notice.tsx"

const GoTo = lazy(() => import("./GoTo.tsx").then(({ GoTo: dialog }) => ({ default: dialog })))

const isMac = /mac/i.test(navigator.platform)

const isAt = (location: string, { to }: Entry): boolean =>
  to === "/"
    ? location === "/" || location.startsWith("/workflows/")
    : location === to || location.startsWith(`${to}/`)

const signOut = async () => {
  try {
    await client.session.signOut()
  } finally {
    queries.clear()
    await queries.invalidateQueries({ queryKey: ["session"] })
  }
}

/** Signs out, and asks before work goes that this browser has and the server has not. */
const SignOut = ({ session }: { readonly session: Session }) => {
  const [isAsking, setIsAsking] = useState(false)
  const leave = async () => {
    // Loaded now, so that pages without an editor do not load it.
    const { hasDrafts } = await import("@millrace/react")
    if (hasDrafts(draftUserOf(session))) setIsAsking(true)
    else await signOut()
  }
  const forget = async () => {
    const { clearDrafts } = await import("@millrace/react")
    clearDrafts(draftUserOf(session))
    await signOut()
  }
  return (
    <>
      <button type="button" className="plain" onClick={() => void leave()}>
        <LogOut aria-hidden size={18} />
        Sign out
      </button>
      {isAsking && (
        <Confirm
          title="Sign out, and lose what is not saved?"
          action="Sign out and remove it"
          act={forget}
          onClose={() => setIsAsking(false)}
        >
          <p>
            This browser keeps changes to workflows that are not saved. Signing out removes them.
          </p>
        </Confirm>
      )}
    </>
  )
}

const Navigation = ({
  onChoose,
  session,
}: {
  readonly session: Session
  readonly onChoose: () => void
}) => {
  const [location] = useLocation()
  return (
    <nav aria-label="Dashboard">
      <ul>
        {entriesOf(session).map((entry) => (
          <li key={entry.to}>
            <Link
              href={entry.to}
              aria-current={isAt(location, entry) ? "page" : undefined}
              onClick={onChoose}
            >
              <entry.Icon aria-hidden size={18} />
              {entry.words}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Opens with Ctrl-K, or with Command-K on a Mac. */
const useShortcut = (open: () => void) => {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      open()
    }
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [open])
}

/** What an operator sees before an account was chosen. */
const needsAccount = (location: string): boolean =>
  !["/accounts", "/health", "/settings"].some((path) => location.startsWith(path))

/** Navigation around a page. */
export const Shell = ({
  children,
  session,
}: {
  readonly session: Session
  readonly children: ReactNode
}) => {
  const [isOpen, setIsOpen] = useState(false)
  const [isSearching, setIsSearching] = useState(false)
  const search = useCallback(() => setIsSearching(true), [])
  useShortcut(search)
  const [location] = useLocation()
  const account = useChosenAccount()
  const { data: signedIn } = useSignedIn()
  const isMissing = session.role === "operator" && account === undefined && needsAccount(location)
  return (
    <div className="shell" data-open={isOpen}>
      <button
        type="button"
        className="skip"
        onClick={() => document.getElementById("content")?.focus()}
      >
        Skip to content
      </button>
      <aside>
        <div className="brand">
          <strong>Millrace</strong>
          <button
            type="button"
            className="icon menu"
            aria-label="Navigation"
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            <Menu aria-hidden size={20} />
          </button>
        </div>
        <div className="drawer">
          {session.role === "operator" ? (
            <AccountChoice />
          ) : (
            <p className="account">{session.account?.name}</p>
          )}
          <button type="button" className="plain" aria-keyshortcuts="Control+K" onClick={search}>
            <Search aria-hidden size={18} />
            Go to
            <kbd aria-hidden>{isMac ? "Cmd" : "Ctrl"} K</kbd>
          </button>
          <Navigation session={session} onChoose={() => setIsOpen(false)} />
          {signedIn?.by === "application" ? null : <SignOut session={session} />}
        </div>
      </aside>
      {isSearching && (
        <Suspense>
          <GoTo session={session} onClose={() => setIsSearching(false)} />
        </Suspense>
      )}
      <main id="content" tabIndex={-1}>
        {isMissing ? (
          <Notice>
            You are signed in as an operator. Choose an account on the left to see its workflows.
          </Notice>
        ) : (
          children
        )}
      </main>
    </div>
  )
}
