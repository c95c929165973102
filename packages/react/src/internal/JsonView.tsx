/**
 * A value as JSON: as plain text at once, and with colours and folding as soon as what draws them
 * has been loaded.
 */
import { Copy } from "lucide-react"
import { useEffect, useMemo, useRef, useState } from "react"
import styles from "./NodePanel.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

interface JsonViewProps {
  readonly value: unknown
  readonly label: string
}

/** What is said after copying, until the value is another one. */
export const useCopying = (): readonly [string, (text: string) => void] => {
  const { messages } = useSurroundings()
  const [said, say] = useState("")
  const copy = (text: string) => {
    const done = () => say(messages.copied)
    const failed = () => say(messages.copyFailed)
    // Pages without TLS have no clipboard.
    const { clipboard } = navigator as { clipboard?: Clipboard }
    if (clipboard === undefined) failed()
    else void clipboard.writeText(text).then(done, failed)
  }
  return [said, copy]
}

/** Shows a value. */
export const JsonView = ({ label, value }: JsonViewProps) => {
  const { messages, nonce } = useSurroundings()
  const text = useMemo(() => JSON.stringify(value, null, 2), [value])
  const place = useRef<HTMLDivElement>(null)
  const [isShown, setShown] = useState(false)
  const [said, copy] = useCopying()
  useEffect(() => {
    let isCurrent = true
    let remove = () => {}
    void import("./JsonEditor.ts").then(({ showJson }) => {
      if (!isCurrent || place.current === null) return
      remove = showJson(place.current, { text, label, nonce })
      setShown(true)
    })
    return () => {
      isCurrent = false
      remove()
      setShown(false)
    }
  }, [text, label, nonce])
  return (
    <div className={styles.json}>
      <div className={styles.jsonTools}>
        <span className={theme.muted}>{messages.bytes(new TextEncoder().encode(text).length)}</span>
        <span aria-live="polite">{said}</span>
        <button
          aria-label={`${messages.copy} ${label}`}
          className={theme.button}
          onClick={() => copy(text)}
          type="button"
        >
          <Copy aria-hidden size={14} />
          {messages.copy}
        </button>
      </div>
      <div ref={place} />
      {isShown ? null : (
        <pre tabIndex={0} aria-label={label} role="region">
          {text.slice(0, 20_000)}
        </pre>
      )}
    </div>
  )
}
