/**
 * The pages of the dashboard, and who sees which.
 */
import type { SessionItem as Session } from "@millrace/api/ConsoleClient"
import {
  Activity,
  Boxes,
  Building2,
  ChartColumn,
  CircleCheck,
  Coins,
  HeartPulse,
  KeyRound,
  LockKeyhole,
  Send,
  Settings as SettingsIcon,
  Users,
  Workflow as WorkflowIcon,
} from "lucide-react"
import type { LucideIcon } from "lucide-react"

/** A page. */
export interface Entry {
  readonly to: string
  readonly words: string
  readonly Icon: LucideIcon
  /** Who sees it; everybody by default. */
  readonly role?: "owner" | "operator"
}

const entries: ReadonlyArray<Entry> = [
  { to: "/", words: "Workflows", Icon: WorkflowIcon },
  { to: "/runs", words: "Runs", Icon: Activity },
  { to: "/approvals", words: "Approvals", Icon: CircleCheck },
  { to: "/deliveries", words: "Deliveries", Icon: Send },
  { to: "/usage", words: "Usage", Icon: ChartColumn },
  { to: "/node-types", words: "Node types", Icon: Boxes },
  { to: "/keys", words: "API keys", Icon: KeyRound, role: "owner" },
  { to: "/secrets", words: "Secrets", Icon: LockKeyhole, role: "owner" },
  { to: "/sessions", words: "Sessions", Icon: Users, role: "owner" },
  { to: "/accounts", words: "Accounts", Icon: Building2, role: "operator" },
  { to: "/grants", words: "Grants", Icon: Coins, role: "operator" },
  { to: "/health", words: "Health", Icon: HeartPulse, role: "operator" },
  { to: "/settings", words: "Settings", Icon: SettingsIcon },
]

const isVisible = ({ role }: Entry, session: Session): boolean => {
  if (role === "operator") return session.role === "operator"
  if (role === "owner") {
    return session.role === "operator" || (session.role === "owner" && session.workflows === null)
  }
  return true
}

/** The pages that somebody sees. */
export const entriesOf = (session: Session): ReadonlyArray<Entry> =>
  entries.filter((entry) => isVisible(entry, session))
