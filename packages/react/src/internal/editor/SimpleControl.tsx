/**
 * Controls of one line: a text, a number, a choice.
 *
 * Guarantees: controlled; they hand on what is typed, right or wrong. Leaves out: what it means.
 */
import type { SimpleField } from "../../model/editing/internal/Fields.ts"
import { useSurroundings } from "../Surroundings.ts"
import styles from "./Inspector.module.css"
import type { ControlProps } from "./NameInput.tsx"
import { NameInput } from "./NameInput.tsx"

interface SimpleProps extends ControlProps {
  readonly field: SimpleField | { readonly kind: "expression" }
  readonly text: string
  readonly onText: (text: string) => void
  readonly takesSecrets: boolean
}

interface Option {
  readonly text: string
  readonly label: string
}

const Choice = (props: SimpleProps & { readonly options: ReadonlyArray<Option> }) => {
  const {
    describedBy,
    id,
    isInvalid,
    isRequired,
    label,
    onText,
    options,
    placeholder,
    readOnly,
    text,
  } = props
  const { messages } = useSurroundings()
  const isKnown = text === "" || options.some((option) => option.text === text)
  return (
    <select
      aria-describedby={describedBy}
      aria-invalid={isInvalid}
      aria-label={label}
      aria-required={isRequired}
      disabled={readOnly}
      id={id}
      onChange={(event) => onText(event.target.value)}
      value={text}
    >
      <option value="">
        {placeholder === "" ? messages.notChosen : `${messages.notChosen} (${placeholder})`}
      </option>
      {isKnown ? null : <option value={text}>{messages.unknownChoice(text)}</option>}
      {options.map((option) => (
        <option key={option.text} value={option.text}>
          {option.label}
        </option>
      ))}
    </select>
  )
}

const optionOf = (value: unknown): Option => ({
  text: JSON.stringify(value),
  label: typeof value === "string" ? value : JSON.stringify(value),
})

/** A control of one line. */
export const SimpleControl = (props: SimpleProps) => {
  const { messages } = useSurroundings()
  const { field } = props
  switch (field.kind) {
    case "boolean":
      return (
        <Choice
          {...props}
          options={[
            { text: "true", label: messages.yes },
            { text: "false", label: messages.no },
          ]}
        />
      )
    case "choice":
      return <Choice {...props} options={field.options.map(optionOf)} />
    case "number":
      return <NumberInput {...props} />
    default:
      return <NameInput {...props} isLong={field.kind === "text" && field.isLong} />
  }
}

/** Not of the type `number`: browsers do not tell what is typed there and is no number. */
const NumberInput = (props: SimpleProps) => (
  <input
    aria-describedby={props.describedBy}
    aria-invalid={props.isInvalid}
    aria-label={props.label}
    aria-required={props.isRequired}
    autoComplete="off"
    className={styles.number}
    id={props.id}
    inputMode="decimal"
    onChange={(event) => props.onText(event.target.value)}
    placeholder={props.placeholder}
    readOnly={props.readOnly}
    type="text"
    value={props.text}
  />
)
