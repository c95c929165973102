/**
 * Copies a text, and says so.
 */
import { Check, Copy } from "lucide-react"
import { useState } from "react"

/** A button that copies `text`. */
export const CopyButton = ({
  label,
  onCopied,
  text,
}: {
  readonly text: string
  readonly label: string
  readonly onCopied?: () => void
}) => {
  const [state, setState] = useState<"idle" | "copied" | "refused">("idle")
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState("copied")
      onCopied?.()
    } catch {
      // Not allowed, or the page is not served over TLS.
      setState("refused")
    }
  }
  const words = { idle: label, copied: "Copied", refused: "Select the text and copy it" }
  return (
    <button type="button" onClick={() => void copy()}>
      {state === "copied" ? <Check aria-hidden size={16} /> : <Copy aria-hidden size={16} />}
      <span aria-live="polite">{words[state]}</span>
    </button>
  )
}
