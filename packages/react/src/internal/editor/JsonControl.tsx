/**
 * JSON to type: in an area for text at once, and with colours, folding and names as soon as what
 * draws them has been loaded.
 *
 * Guarantees: whatever is typed is handed on, valid or not; what is loading never takes the focus.
 */
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "react"
import { offerInJson, offersInJson } from "../../model/editing/internal/JsonNames.ts"
import type { JsonEditing } from "../JsonEditor.ts"
import { useSurroundings } from "../Surroundings.ts"
import styles from "./Inspector.module.css"
import type { ControlProps } from "./NameInput.tsx"
import { NameSourceContext } from "./NameInput.tsx"
import { AskForNames, useOfferList } from "./NameOffers.tsx"

interface JsonControlProps extends ControlProps {
  readonly text: string
  readonly onText: (text: string) => void
  readonly takesSecrets: boolean
}

/** Names for the text. */
const useNames = (
  { readOnly, takesSecrets, text }: JsonControlProps,
  editing: JsonEditing | undefined,
) => {
  const names = useContext(NameSourceContext)
  const onAsk = () => {
    editing?.focus()
    if (editing !== undefined) list.ask(text, editing.caret(), true)
  }
  const list = useOfferList({
    text,
    readOnly,
    offersOf: (asked) =>
      names && offersInJson(asked.text, asked.caret, names.scopeOf(takesSecrets), asked.isAsked),
    onAsk,
    onTake: (offer, offers) => {
      const { caret, from, insert, to } = offerInJson(text, offers, offer)
      editing?.replace(from, to, insert, caret)
      editing?.focus()
    },
  })
  return {
    ...list,
    names,
    onAsk,
    onTyped: (value: string, caret: number) => list.ask(value, caret, false),
  }
}

/** Loads what draws the text, and puts it into the element. */
const useEditing = (props: JsonControlProps) => {
  const { label, readOnly } = props
  const { nonce } = useSurroundings()
  const place = useRef<HTMLDivElement>(null)
  const area = useRef<HTMLTextAreaElement>(null)
  const [editing, setEditing] = useState<JsonEditing>()
  const names = useNames(props, editing)
  const latest = useRef({ ...props, ...names })
  latest.current = { ...props, ...names }
  useEffect(() => {
    let made: JsonEditing | undefined
    let isCurrent = true
    void import("../JsonEditor.ts").then(({ editJson }) => {
      if (!isCurrent || place.current === null) return
      // Somebody types already.
      if (document.activeElement === area.current) return
      made = editJson(place.current, {
        label,
        nonce,
        readOnly,
        text: latest.current.text,
        onText: (text) => latest.current.onText(text),
        onTyped: (text, caret) => latest.current.onTyped(text, caret),
        onKey: (event) => latest.current.onKey(event),
        onFocus: () => latest.current.names?.wantValues(),
        onBlur: () => latest.current.close(),
      })
      setEditing(made)
    })
    return () => {
      isCurrent = false
      made?.remove()
      setEditing(undefined)
    }
  }, [label, nonce, readOnly])
  return { area, editing, names, place }
}

/** What the text says of itself. */
const useAttributes = (
  { describedBy, id, isInvalid, isRequired }: ControlProps,
  editing: JsonEditing | undefined,
  state: Readonly<Record<string, string | undefined>>,
) => {
  const all = {
    id,
    "aria-describedby": describedBy,
    "aria-invalid": String(isInvalid),
    "aria-required": String(isRequired),
    ...state,
  }
  const text = JSON.stringify(all)
  useEffect(() => editing?.describe(JSON.parse(text) as Record<string, string>), [editing, text])
}

/** JSON to type. */
export const JsonControl = (props: JsonControlProps) => {
  const { describedBy, id, isInvalid, isRequired, label, onText, placeholder, readOnly } = props
  const { text } = props
  const { area, editing, names, place } = useEditing(props)
  // Before the next key is handled, which this text would take back.
  useLayoutEffect(() => editing?.setText(text), [editing, text])
  useAttributes(props, editing, names.state)
  return (
    <div className={styles.names}>
      <div className={styles.json}>
        <div ref={place} />
        {editing === undefined ? (
          <textarea
            aria-describedby={describedBy}
            aria-invalid={isInvalid}
            aria-label={label}
            aria-required={isRequired}
            id={id}
            onChange={(event) => onText(event.target.value)}
            placeholder={placeholder}
            readOnly={readOnly}
            ref={area}
            rows={4}
            spellCheck={false}
            value={text}
          />
        ) : null}
      </div>
      {readOnly || names.names === undefined || editing === undefined ? null : (
        <AskForNames label={label} onAsk={names.onAsk} />
      )}
      {names.popup}
    </div>
  )
}
