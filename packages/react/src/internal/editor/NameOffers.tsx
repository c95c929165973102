/**
 * The list of names that are offered for a text, and the keys for it.
 *
 * Guarantees: the text keeps the focus. Arrows choose, Enter takes, Escape closes.
 */
import { Braces } from "lucide-react"
import { useEffect, useId, useRef, useState } from "react"
import type { NameOffer, NameOffers } from "../../model/editing/internal/NameCompletion.ts"
import { shortText } from "../../model/editing/internal/NameCompletion.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Inspector.module.css"

/** A text for which names are asked, and which of them is chosen: without one, the first. */
interface Asked {
  readonly text: string
  readonly caret: number
  /** Somebody asks for names where none are offered. */
  readonly isAsked: boolean
  readonly chosen?: string
}

const Offer = ({
  id,
  isChosen,
  offer,
  onTake,
}: {
  readonly id: string
  readonly isChosen: boolean
  readonly offer: NameOffer
  readonly onTake: () => void
}) => {
  const place = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isChosen) place.current?.scrollIntoView({ block: "nearest" })
  }, [isChosen])
  return (
    <li
      aria-selected={isChosen}
      id={id}
      // The text keeps the focus.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onTake}
      ref={place}
      role="option"
    >
      <code>{offer.name}</code>
      <span className={theme.muted}>{offer.kind}</span>
      {offer.description === "" ? null : <span className={styles.about}>{offer.description}</span>}
      {offer.value === undefined ? null : (
        <code className={styles.known}>{shortText(offer.value.is)}</code>
      )}
    </li>
  )
}

interface OfferListOptions {
  /** The text as it is now. A list that was asked for another text is closed. */
  readonly text: string
  readonly readOnly: boolean
  readonly offersOf: (asked: Asked) => NameOffers | undefined
  /** Somebody asks for names where none are offered. */
  readonly onAsk: () => void
  readonly onTake: (offer: NameOffer, offers: NameOffers) => void
}

/** A list of offers that is open or not. It grows as names and values become known. */
export const useOfferList = (options: OfferListOptions) => {
  const { offersOf, onAsk, onTake, readOnly, text } = options
  const { messages } = useSurroundings()
  const id = useId()
  const [asked, setAsked] = useState<Asked>()
  const found = asked?.text === text ? offersOf(asked) : undefined
  const shown = found === undefined || found.offers.length === 0 ? undefined : found
  const isChosen = ({ insert }: NameOffer): boolean => insert === asked?.chosen
  const chosen = Math.max(0, shown?.offers.findIndex(isChosen) ?? 0)
  const close = () => setAsked(undefined)
  const take = (offer: NameOffer) => {
    if (shown === undefined) return
    close()
    onTake(offer, shown)
  }
  const move = (step: number) => {
    const next = shown?.offers.at((chosen + step) % shown.offers.length)
    if (next !== undefined) setAsked((all) => all && { ...all, chosen: next.insert })
  }
  /** True for a key that is meant for the list. */
  const onKey = ({ ctrlKey, isComposing, key }: KeyboardEvent): boolean => {
    if (isComposing) return false
    if (key === " " && ctrlKey && !readOnly) onAsk()
    else if (shown === undefined) return false
    else if (key === "ArrowDown") move(1)
    else if (key === "ArrowUp") move(-1)
    else if (key === "Enter") take(shown.offers[chosen]!)
    else if (key === "Escape") close()
    else return false
    return true
  }
  const popup =
    shown === undefined ? null : (
      <ul aria-label={messages.names} className={styles.offers} id={id} role="listbox">
        {shown.offers.map((offer, index) => (
          <Offer
            id={`${id}${index}`}
            isChosen={index === chosen}
            key={index}
            offer={offer}
            onTake={() => take(offer)}
          />
        ))}
      </ul>
    )
  return {
    popup,
    onKey,
    close,
    ask: (value: string, caret: number, isAsked: boolean) =>
      setAsked({ text: value, caret, isAsked }),
    /** For the text. */
    state: {
      "aria-activedescendant": shown === undefined ? undefined : `${id}${chosen}`,
      "aria-autocomplete": "list" as const,
      "aria-controls": shown === undefined ? undefined : id,
    },
  }
}

/** Asks for names. */
export const AskForNames = ({
  label,
  onAsk,
}: {
  readonly label: string
  readonly onAsk: () => void
}) => {
  const { messages } = useSurroundings()
  return (
    <button
      aria-label={messages.insertName(label)}
      className={styles.icon}
      // The text keeps the focus and its caret.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onAsk}
      title={messages.expressionHint}
      type="button"
    >
      <Braces aria-hidden size={16} />
    </button>
  )
}
