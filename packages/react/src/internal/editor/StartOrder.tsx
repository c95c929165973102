/**
 * The fields of a start that say when it is its turn: priority, time and concurrency key.
 *
 * Leaves out: what the server allows; it says so.
 */
import { useId } from "react"
import type { StartOrderTexts } from "./OrderTexts.ts"
import { useSurroundings } from "../Surroundings.ts"
import styles from "./StartForm.module.css"

/** The zone in which fields of the browser have their times. */
const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone

interface StartOrderProps {
  readonly texts: StartOrderTexts
  readonly onTexts: (texts: StartOrderTexts) => void
}

/** Asks for the order of a start, behind a line that opens it. */
export const StartOrder = ({ onTexts, texts }: StartOrderProps) => {
  const { messages } = useSurroundings()
  const id = useId()
  const control = (name: keyof StartOrderTexts) => ({
    autoComplete: "off",
    id: `${id}${name}`,
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      onTexts({ ...texts, [name]: target.value }),
    value: texts[name],
  })
  return (
    <details className={styles.order}>
      <summary>{messages.startOrder}</summary>
      <div className={styles.field}>
        <label htmlFor={`${id}priority`}>{messages.startPriority}</label>
        <input {...control("priority")} max={10} min={-10} placeholder="0" type="number" />
      </div>
      <div className={styles.field}>
        <label htmlFor={`${id}startAt`}>{messages.startNotBefore(zone)}</label>
        <input {...control("startAt")} type="datetime-local" />
      </div>
      <div className={styles.field}>
        <label htmlFor={`${id}concurrencyKey`}>{messages.startKey}</label>
        <input {...control("concurrencyKey")} aria-describedby={`${id}hint`} dir="auto" />
        <p id={`${id}hint`}>{messages.startKeyHint}</p>
      </div>
    </details>
  )
}
