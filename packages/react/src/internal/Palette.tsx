/**
 * The palette: all node types, found by what somebody writes, and chosen by arrows and Enter or by
 * a click.
 *
 * Guarantees: the focus is in the search while it is open; Escape closes it. On a narrow canvas it
 * is a drawer.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { X } from "lucide-react"
import type { KeyboardEvent } from "react"
import { useEffect, useId, useMemo, useRef, useState } from "react"
import { searchedTypes } from "./PaletteSearch.ts"
import { offeredTypes } from "../model/internal/NodeVersions.ts"
import type { NodeViews } from "../NodeViews.ts"
import { TypeIcon } from "./Icons.tsx"
import styles from "./Palette.module.css"
import { useSurroundings } from "./Surroundings.ts"

/** On a canvas narrower than this it is a drawer at the bottom of the window. */
const drawerBelow = 600

interface PaletteProps {
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly nodeViews: NodeViews
  /** True if the graph has a request node; it takes no second one. */
  readonly hasRequest: boolean
  /** From the corner of the canvas; at its side otherwise. */
  readonly at: { readonly x: number; readonly y: number } | undefined
  readonly onChoose: (type: NodeTypeItem) => void
  readonly onClose: () => void
}

interface OptionProps {
  readonly id: string
  readonly type: NodeTypeItem
  readonly nodeViews: NodeViews
  readonly isActive: boolean
  readonly isRefused: boolean
  readonly onChoose: () => void
}

const Option = ({ id, isActive, isRefused, nodeViews, onChoose, type }: OptionProps) => {
  const { messages } = useSurroundings()
  const { category, description, key, name } = type
  const { color, icon: Icon } = nodeViews[key] ?? {}
  const { icon } = type as { readonly icon?: string }
  const element = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isActive) element.current?.scrollIntoView({ block: "nearest" })
  }, [isActive])
  return (
    <li
      aria-disabled={isRefused}
      aria-selected={isActive}
      className={styles.option}
      id={id}
      onClick={isRefused ? undefined : onChoose}
      ref={element}
      role="option"
    >
      <span className={styles.icon} style={color === undefined ? {} : { color }}>
        {Icon === undefined ? (
          <TypeIcon category={category} icon={icon} type={key} />
        ) : (
          <Icon size={18} />
        )}
      </span>
      <span className={styles.names}>
        <strong>{name}</strong>
        <span className={styles.key}>
          {category} · {key}
        </span>
        <span>{isRefused ? messages.oneRequestOnly : description}</span>
      </span>
    </li>
  )
}

const steps: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowDown: (at, last) => (at >= last ? 0 : at + 1),
  ArrowUp: (at, last) => (at <= 0 ? last : at - 1),
  PageDown: (at, last) => Math.min(last, at + 8),
  PageUp: (at) => Math.max(0, at - 8),
}

const useSearch = ({ hasRequest, nodeTypes, onChoose, onClose }: PaletteProps) => {
  const [text, setText] = useState("")
  const [at, setAt] = useState(0)
  const found = useMemo(() => {
    const types = searchedTypes(offeredTypes(nodeTypes), text)
    const [first, ...others] = types
    // What cannot be added is the last thing that somebody looks for.
    return hasRequest && text === "" && first?.key === "request" ? [...others, first] : types
  }, [hasRequest, nodeTypes, text])
  const isRefused = ({ key }: NodeTypeItem) => hasRequest && key === "request"
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    const next = steps[event.key]?.(at, found.length - 1)
    const chosen = found[at]
    if (event.key === "Escape") onClose()
    else if (event.key === "Enter" && chosen !== undefined && !isRefused(chosen)) onChoose(chosen)
    else if (next !== undefined) setAt(Math.max(0, next))
    else return
    event.preventDefault()
  }
  const search = (words: string) => {
    setText(words)
    setAt(0)
  }
  return { at, found, isRefused, onKeyDown, search, text }
}

/** Shows the palette. */
export const Palette = (props: PaletteProps) => {
  const { at: corner, nodeViews, onChoose, onClose } = props
  const { messages } = useSurroundings()
  const { at, found, isRefused, onKeyDown, search, text } = useSearch(props)
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const room = dialog.current?.parentElement?.clientWidth ?? 0
    if (room < drawerBelow) dialog.current?.showModal()
    else dialog.current?.show()
  }, [])
  const place =
    corner === undefined ? {} : { insetInlineStart: corner.x, insetBlockStart: corner.y }
  return (
    <dialog
      aria-label={messages.palette}
      className={styles.palette}
      data-placed={corner !== undefined}
      onClose={onClose}
      onKeyDown={onKeyDown}
      ref={dialog}
      style={place}
    >
      <div className={styles.head}>
        <input
          aria-activedescendant={found.length === 0 ? undefined : `${id}${at}`}
          aria-autocomplete="list"
          aria-controls={`${id}list`}
          aria-expanded
          aria-label={messages.searchTypes}
          autoComplete="off"
          autoFocus
          onChange={({ target }) => search(target.value)}
          placeholder={messages.searchTypes}
          role="combobox"
          spellCheck={false}
          value={text}
        />
        <button aria-label={messages.close} onClick={onClose} title={messages.close} type="button">
          <X aria-hidden size={18} />
        </button>
      </div>
      <p aria-live="polite" className={styles.count}>
        {found.length === 0 ? messages.noTypesFound : messages.typesFound(found.length)}
      </p>
      <ul aria-label={messages.palette} id={`${id}list`} role="listbox">
        {found.map((type, index) => (
          <Option
            id={`${id}${index}`}
            isActive={index === at}
            isRefused={isRefused(type)}
            key={type.key}
            nodeViews={nodeViews}
            onChoose={() => onChoose(type)}
            type={type}
          />
        ))}
      </ul>
    </dialog>
  )
}
