/**
 * Copying and pasting nodes: through the clipboard as JSON, never as HTML, and at once.
 *
 * Guarantees: acts while the focus is on the canvas, and never while somebody types or has selected
 * text. What cannot be pasted is refused in a sentence.
 */
import type { RefObject } from "react"
import { useEffect, useRef } from "react"
import type { Messages } from "../Messages.ts"
import type { Fragment, PasteProblem } from "../model/editing/Clipboard.ts"
import { isTyping } from "./CanvasKeys.ts"

/** Why a text cannot be pasted, in a sentence. */
export const pasteSentence = ({ pasteProblems }: Messages, problem: PasteProblem): string => {
  switch (problem.reason) {
    case "empty":
    case "notJson":
      return pasteProblems[problem.reason]
    case "tooLarge":
      return pasteProblems.tooLarge(problem.characters, problem.limit)
    default:
      return pasteProblems.foreign
  }
}

/** Ids of nodes and edges. */
export const idsOf = (elements: ReadonlyArray<{ readonly id: string }>): ReadonlySet<string> =>
  new Set(elements.map(({ id }) => id))

/** What the clipboard asks of a canvas. */
export interface ClipboardUses {
  /** The selected nodes as text; nothing if none is selected. */
  readonly copyText: () => string | undefined
  readonly remove: () => void
  readonly paste: (text: string) => void
}

/** True if the clipboard is meant for the canvas. */
const isMeant = (stage: HTMLElement | null): boolean => {
  const focused = document.activeElement
  const isHere = stage !== null && focused !== null && stage.contains(focused)
  return isHere && !isTyping(focused) && document.getSelection()?.isCollapsed !== false
}

/** Listens to the clipboard. Browsers tell the page, and not what has the focus, of it. */
export const useClipboard = (
  stage: RefObject<HTMLElement | null>,
  uses: ClipboardUses,
  isOn: boolean,
): void => {
  const latest = useRef(uses)
  latest.current = uses
  useEffect(() => {
    if (!isOn) return
    const copy = (event: ClipboardEvent) => {
      const text = isMeant(stage.current) ? latest.current.copyText() : undefined
      if (text === undefined) return
      event.preventDefault()
      event.clipboardData?.setData("text/plain", text)
      if (event.type === "cut") latest.current.remove()
    }
    const paste = (event: ClipboardEvent) => {
      if (!isMeant(stage.current)) return
      event.preventDefault()
      latest.current.paste(event.clipboardData?.getData("text/plain") ?? "")
    }
    const stop = new AbortController()
    document.addEventListener("copy", copy, stop)
    document.addEventListener("cut", copy, stop)
    document.addEventListener("paste", paste, stop)
    return () => stop.abort()
  }, [isOn, stage])
}

/** True if there is something to paste. */
export const isFragment = (
  found: Fragment | { readonly problem: PasteProblem },
): found is Fragment => "nodes" in found
