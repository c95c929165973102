/**
 * Pictures of states and of node types: drawn, never glyphs, which some systems do not have.
 */
import type { LucideIcon } from "lucide-react"
import {
  Ban,
  Bot,
  Box,
  Braces,
  CircleCheck,
  CircleDashed,
  CircleMinus,
  CircleX,
  Clock,
  Code,
  Database,
  FileText,
  Filter,
  Globe,
  Hourglass,
  LoaderCircle,
  LogIn,
  LogOut,
  Mail,
  Merge,
  Repeat,
  Split,
  StickyNote,
  Timer,
  Variable,
  Webhook,
  Workflow,
} from "lucide-react"
import type { CanvasBox, NodeState } from "../model/CanvasBox.ts"
import styles from "./Theme.module.css"

type AnyState = NodeState | "QUEUED"

const ofStates: Readonly<Record<AnyState, LucideIcon>> = {
  PENDING: CircleDashed,
  QUEUED: Clock,
  RUNNING: LoaderCircle,
  WAITING: Hourglass,
  COMPLETED: CircleCheck,
  FAILED: CircleX,
  SKIPPED: CircleMinus,
  CANCELED: Ban,
}

/** The state of a run or a node. Say it in words beside the icon, too. */
export const StateIcon = ({ size = 16, state }: { state: AnyState; size?: number }) => {
  const Icon = ofStates[state]
  return <Icon aria-hidden className={styles[`state${state}`]} data-state={state} size={size} />
}

const ofTypes: Readonly<Record<string, LucideIcon>> = {
  bot: Bot,
  braces: Braces,
  "circle-x": CircleX,
  code: Code,
  database: Database,
  "file-text": FileText,
  filter: Filter,
  globe: Globe,
  hourglass: Hourglass,
  "log-in": LogIn,
  "log-out": LogOut,
  mail: Mail,
  merge: Merge,
  repeat: Repeat,
  split: Split,
  "sticky-note": StickyNote,
  timer: Timer,
  variable: Variable,
  webhook: Webhook,
  workflow: Workflow,
}

const ofKeys: Readonly<Record<string, LucideIcon>> = {
  note: StickyNote,
  request: LogIn,
  response: LogOut,
}

const ofCategories: Readonly<Record<string, LucideIcon>> = {
  data: Braces,
  flow: Split,
  network: Globe,
}

/** The picture of a node's type: the one that the type names, or that of its category. */
export const TypeIcon = ({
  category,
  icon,
  type,
}: Pick<CanvasBox, "category" | "icon" | "type">) => {
  const Icon = ofTypes[icon ?? ""] ?? ofKeys[type] ?? ofCategories[category ?? ""] ?? Box
  return <Icon aria-hidden size={18} />
}
