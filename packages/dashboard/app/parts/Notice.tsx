/**
 * A sentence that says what happened, or what to do.
 */
import { CircleAlert, Info } from "lucide-react"
import type { ReactNode } from "react"

/** A sentence; one of an error is announced. */
export const Notice = ({
  children,
  kind = "info",
}: {
  readonly children: ReactNode
  readonly kind?: "info" | "error"
}) => (
  <div className={`notice ${kind}`} role={kind === "error" ? "alert" : "note"}>
    {kind === "error" ? <CircleAlert aria-hidden size={18} /> : <Info aria-hidden size={18} />}
    <div>{children}</div>
  </div>
)
