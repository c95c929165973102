/**
 * Navigation around a page: beside it on a wide screen, behind a button on a phone.
 */
import type { SessionItem as Session } from "@millrace/api/ConsoleClient"
import {
  Activity,
  Boxes,
  Building2,
  ChartColumn,
  KeyRound,
  LockKeyhole,
  LogOut,
  Menu,
  Send,
  Settings as SettingsIcon,
  Users,
  Workflow as WorkflowIcon,
} from "lucide-react"
import type { LucideIcon } from "lucide-react"
import type { ReactNode } from "react"
import { useState } from "react"
import { Link, useLocation } from "wouter"
import { client, queries, useChosenAccount } from "../Console.ts"
import { AccountChoice } from "./AccountChoice.tsx"
import { Notice } from "./Notice.tsx"

interface Entry {
  readonly to: string
  readonly words: string
  readonly Icon: LucideIcon
  /** Who sees it; everybody by default. */
  readonly role?: "owner" | "operator"
}

const entries: ReadonlyArray<Entry> = [
  { to: "/", words: "Workflows", Icon: WorkflowIcon },
  { to: "/runs", words: "Runs", Icon: Activity },
  { to: "/deliveries", words: "Deliveries", Icon: Send },
  { to: "/usage", words: "Usage", Icon: ChartColumn },
  { to: "/node-types", words: "Node types", Icon: Boxes },
  { to: "/keys", words: "API keys", Icon: KeyRound, role: "owner" },
  { to: "/secrets", words: "Secrets", Icon: LockKeyhole, role: "owner" },
  { to: "/sessions", words: "Sessions", Icon: Users, role: "owner" },
  { to: "/accounts", words: "Accounts", Icon: Building2, role: "operator" },
  { to: "/settings", words: "Settings", Icon: SettingsIcon },
]

const isVisible = ({ role }: Entry, session: Session): boolean => {
  if (role === "operator") return session.role === "operator"
  if (role === "owner") {
    return session.role === "operator" || (session.role === "owner" && session.workflows === null)
  }
  return true
}

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
        {entries
          .filter((entry) => isVisible(entry, session))
          .map((entry) => (
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

/** What an operator sees before an account was chosen. */
const needsAccount = (location: string): boolean =>
  !location.startsWith("/accounts") && !location.startsWith("/settings")

/** Navigation around a page. */
export const Shell = ({
  children,
  session,
}: {
  readonly session: Session
  readonly children: ReactNode
}) => {
  const [isOpen, setIsOpen] = useState(false)
  const [location] = useLocation()
  const account = useChosenAccount()
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
          <Navigation session={session} onChoose={() => setIsOpen(false)} />
          <button type="button" className="plain" onClick={() => void signOut()}>
            <LogOut aria-hidden size={18} />
            Sign out
          </button>
        </div>
      </aside>
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
