/**
 * A text in which names of other nodes are offered between `{{` and `}}`.
 *
 * Guarantees: by keyboard as a combobox of ARIA: arrows choose, Enter takes, Escape closes, Control
 * and the space bar ask for names anywhere. Whatever is typed stays.
 */
import type { ChangeEvent, KeyboardEvent, RefObject } from "react"
import { createContext, useContext, useLayoutEffect, useRef, useState } from "react"
import type {
  NameOffer,
  NameOffers,
  NameScope,
} from "../../model/editing/internal/NameCompletion.ts"
import { offersAt, withOffer } from "../../model/editing/internal/NameCompletion.ts"
import styles from "./Inspector.module.css"
import { AskForNames, useOfferList } from "./NameOffers.tsx"

/** The names of a node, and a call for the values that they had in the last run. */
export interface NameSource {
  readonly scopeOf: (takesSecrets: boolean) => NameScope
  readonly wantValues: () => void
  /** Where texts are computed. */
  readonly place: {
    readonly workflowId: string
    readonly nodeId: string
    readonly runId: string | undefined
  }
}

/** Above the inputs of a node. */
export const NameSourceContext = createContext<NameSource | undefined>(undefined)

/** What all controls of inputs have. */
export interface ControlProps {
  readonly id: string
  /** Names the control where no `<label>` does. */
  readonly label: string
  readonly describedBy: string | undefined
  readonly isInvalid: boolean
  readonly isRequired: boolean
  readonly readOnly: boolean
  readonly placeholder: string
}

interface NameInputProps extends ControlProps {
  readonly text: string
  readonly onText: (text: string) => void
  readonly isLong: boolean
  readonly takesSecrets: boolean
}

type TextElement = HTMLInputElement | HTMLTextAreaElement

/** The offers for a text, and what keys do with them. */
const useOffers = (props: NameInputProps, place: RefObject<TextElement | null>) => {
  const { onText, readOnly, takesSecrets, text } = props
  const names = useContext(NameSourceContext)
  const caret = useRef<number>(undefined)
  useLayoutEffect(() => {
    if (caret.current === undefined) return
    place.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  })
  const take = (offer: NameOffer, offers: NameOffers) => {
    const next = withOffer(text, offers, offer)
    caret.current = next.caret
    onText(next.text)
    place.current?.focus()
  }
  const list = useOfferList({
    text,
    readOnly,
    offersOf: (asked) =>
      names && offersAt(asked.text, asked.caret, names.scopeOf(takesSecrets), asked.isAsked),
    onAsk: () => ask(text, true),
    onTake: take,
  })
  const ask = (value: string, isAsked: boolean) =>
    list.ask(value, place.current?.selectionStart ?? value.length, isAsked)
  return { ...list, ask, names }
}

/** A text with names. */
export const NameInput = (props: NameInputProps) => {
  const {
    describedBy,
    id,
    isInvalid,
    isLong,
    isRequired,
    label,
    onText,
    placeholder,
    readOnly,
    text,
  } = props
  const place = useRef<TextElement>(null)
  const { ask, close, names, onKey, popup, state } = useOffers(props, place)
  // A line would lose its breaks in an input; which of the two it is does not change while typing.
  const [isTall] = useState(() => isLong || text.includes("\n"))
  const common = {
    ...state,
    "aria-describedby": describedBy,
    "aria-invalid": isInvalid,
    "aria-label": label,
    "aria-required": isRequired,
    autoComplete: "off",
    dir: "auto",
    id,
    onBlur: close,
    onChange: (event: ChangeEvent<TextElement>) => {
      onText(event.target.value)
      ask(event.target.value, false)
    },
    onFocus: names?.wantValues,
    onKeyDown: (event: KeyboardEvent) => {
      if (!onKey(event.nativeEvent)) return
      event.preventDefault()
      event.stopPropagation()
    },
    placeholder,
    readOnly,
    spellCheck: false,
    value: text,
  }
  return (
    <div className={styles.names}>
      {isTall ? (
        <textarea {...common} ref={place as RefObject<HTMLTextAreaElement>} rows={2} />
      ) : (
        <input
          {...common}
          aria-expanded={popup !== null}
          ref={place as RefObject<HTMLInputElement>}
          role="combobox"
          type="text"
        />
      )}
      {readOnly || names === undefined ? null : (
        <AskForNames
          label={label}
          onAsk={() => {
            place.current?.focus()
            ask(text, true)
          }}
        />
      )}
      {popup}
    </div>
  )
}
