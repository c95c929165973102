/**
 * The form of a start: a field for each value that the request node declares.
 *
 * Guarantees: the focus stays in it while it is open. An empty field is not given.
 */
import { Play, X } from "lucide-react"
import type { ReactNode } from "react"
import { useEffect, useId, useRef, useState } from "react"
import type { StartField } from "../../model/StartValues.ts"
import { startTextOf, startValuesOf } from "../../model/StartValues.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./StartForm.module.css"

interface FieldProps {
  readonly field: StartField
  readonly isWrong: boolean
  readonly text: string
  readonly onText: (text: string) => void
}

const Field = ({ field, isWrong, onText, text }: FieldProps) => {
  const { messages } = useSurroundings()
  const id = useId()
  const { description, name, required = false, type } = field
  const isLine = type === "string" || type === "number"
  const hint = [description, isLine || type === "boolean" ? undefined : messages.asJson(type)]
  const control = {
    "aria-describedby": `${id}hint`,
    "aria-invalid": isWrong,
    autoComplete: "off",
    dir: "auto",
    id,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onText(target.value),
    placeholder: startTextOf(field.default),
    value: text,
  }
  return (
    <div className={styles.field}>
      <label htmlFor={id}>
        <bdi>{name}</bdi>
        {required ? ` (${messages.requiredPort})` : ""}
      </label>
      {type === "boolean" ? (
        <select id={id} onChange={({ target }) => onText(target.value)} value={text}>
          <option value="">{messages.notGiven}</option>
          <option>true</option>
          <option>false</option>
        </select>
      ) : isLine ? (
        <input {...control} inputMode={type === "number" ? "decimal" : "text"} />
      ) : (
        <textarea {...control} rows={4} spellCheck={false} />
      )}
      <p id={`${id}hint`}>{hint.filter((part) => part !== undefined).join(" ")}</p>
      {isWrong ? (
        <p className={theme.failure} role="alert">
          {messages.notJsonOf(name, type)}
        </p>
      ) : null}
    </div>
  )
}

interface StartFormProps {
  readonly fields: ReadonlyArray<StartField>
  /** What was given last. */
  readonly texts: Readonly<Record<string, string>>
  readonly onTexts: (texts: Readonly<Record<string, string>>) => void
  /** The owner closes the form, or says why nothing was started. */
  readonly onStart: (values: Record<string, never>) => void
  readonly onClose: () => void
  readonly isBusy?: boolean
  readonly problem?: string
  /** Behind the fields. */
  readonly children?: ReactNode
}

/** Asks for the values of a run. */
export const StartForm = (props: StartFormProps) => {
  const { children, fields, isBusy = false, onClose, onStart, onTexts, problem = "", texts } = props
  const { messages } = useSurroundings()
  const [wrong, setWrong] = useState<ReadonlyArray<StartField>>([])
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const submit = (event: { readonly preventDefault: () => void }) => {
    event.preventDefault()
    const found = startValuesOf(fields, texts)
    setWrong(found.wrong)
    if (found.wrong.length === 0) onStart(found.values)
  }
  return (
    <dialog
      aria-label={messages.startValues}
      className={styles.dialog}
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()}
      ref={dialog}
    >
      <form onSubmit={submit}>
        <div className={styles.head}>
          <h2>{messages.startValues}</h2>
          <button
            aria-label={messages.close}
            className={theme.button}
            onClick={() => dialog.current?.close()}
            type="button"
          >
            <X aria-hidden size={18} />
          </button>
        </div>
        {fields.length === 0 ? <p>{messages.noStartValues}</p> : null}
        {fields.map((field) => (
          <Field
            field={field}
            isWrong={wrong.includes(field)}
            key={field.name}
            onText={(text) => onTexts({ ...texts, [field.name]: text })}
            text={Object.hasOwn(texts, field.name) ? texts[field.name]! : ""}
          />
        ))}
        {children}
        {problem === "" ? null : (
          <p className={theme.failure} role="alert">
            {problem}
          </p>
        )}
        <button className={`${theme.button} ${styles.primary}`} disabled={isBusy} type="submit">
          <Play aria-hidden size={16} />
          {messages.run}
        </button>
      </form>
    </dialog>
  )
}
