/**
 * Names in expressions within JSON: texts there are in quotes, and what is put in is escaped.
 *
 * Guarantees: total, also for JSON that is not finished; looks at one line. Leaves out: keys in
 * brackets, which are escaped themselves.
 */
import type { NameOffer, NameOffers, NameScope } from "./NameCompletion.ts"
import { offersAt, withOffer } from "./NameCompletion.ts"

/** The text in quotes around the caret, without them; `undefined` outside of any. */
const quotedAt = (text: string, caret: number) => {
  const begin = text.lastIndexOf("\n", caret - 1) + 1
  let from: number | undefined
  for (let at = begin; at < caret; at++) {
    if (text[at] === "\\") at++
    else if (text[at] === '"') from = from === undefined ? at + 1 : undefined
  }
  if (from === undefined) return undefined
  let to = caret
  while (to < text.length && text[to] !== '"' && text[to] !== "\n") to += text[to] === "\\" ? 2 : 1
  return { from, to: Math.min(to, text.length) }
}

/** The names that may stand at the caret of a JSON text. See `offersAt`. */
export const offersInJson = (
  text: string,
  caret: number,
  scope: NameScope,
  isAsked = false,
): NameOffers | undefined => {
  const quoted = quotedAt(text, caret)
  if (quoted === undefined) {
    const found = isAsked ? offersAt("", 0, scope, true) : undefined
    return found && { ...found, from: caret, to: caret }
  }
  const { from, to } = quoted
  const found = offersAt(text.slice(from, to), caret - from, scope, isAsked)
  return found && { ...found, from: found.from + from, to: found.to + from }
}

/** What taking an offer changes in a JSON text. */
export const offerInJson = (
  text: string,
  { from, to }: Pick<NameOffers, "from" | "to">,
  { insert }: Pick<NameOffer, "insert">,
): {
  readonly from: number
  readonly to: number
  readonly insert: string
  readonly caret: number
} => {
  const escaped = JSON.stringify(insert).slice(1, -1)
  const quoted = quotedAt(text, from)
  if (quoted === undefined)
    return { from, to, insert: `"${escaped}"`, caret: from + escaped.length - 2 }
  const segment = text.slice(quoted.from, quoted.to)
  const range = { from: from - quoted.from, to: to - quoted.from }
  const next = withOffer(segment, range, { insert: escaped })
  const end = next.text.length - (segment.length - range.to)
  return { from, to, insert: next.text.slice(range.from, end), caret: quoted.from + next.caret }
}
