/**
 * What is typed in one input, and how it gets into the document.
 *
 * Guarantees: a key that is pressed draws its own field and nothing else; the document hears of it
 * when the typing pauses, the field is left, or the page is. What is no value yet is kept in the
 * document as it was typed. What changes in the document meanwhile, by undoing for example, is
 * shown as soon as nothing is on its way there.
 */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react"
import { isSame } from "../../model/editing/Document.ts"
import type { Field, FieldProblem, Typed } from "../../model/editing/internal/Fields.ts"
import { fieldFor, typedOf, valueOf } from "../../model/editing/internal/Fields.ts"
import type { UnfinishedInput } from "../../model/editing/internal/NodeInputs.ts"

/** Typing pauses when nothing was typed for so long. */
const pauseMillis = 150

/** An input in the document. */
export interface StoredInput {
  readonly fields: ReadonlyArray<Field>
  readonly value: unknown
  readonly unfinished: UnfinishedInput | undefined
  readonly onValue: (value: unknown) => void
  readonly onUnfinished: (unfinished: UnfinishedInput | undefined) => void
}

/** An input as it is shown. */
export interface TypedInput {
  readonly field: Field
  readonly typed: Typed
  readonly problem: FieldProblem | undefined
  readonly type: (typed: Typed) => void
  /** Shows the value in another form. */
  readonly choose: (field: Field) => void
  /** Hands over what was typed, now. */
  readonly flush: () => void
}

interface Local {
  readonly field: Field
  /** Absent: what the document has, in this form. */
  readonly typed?: Typed
  /** What the document has as long as this is true. */
  readonly value: unknown
  readonly unfinished: UnfinishedInput | undefined
}

const ofDocument = ({ fields, unfinished, value }: StoredInput): Local => {
  const kept = unfinished && fields.find(({ kind }) => kind === unfinished.kind)
  if (unfinished === undefined) return { field: fieldFor(fields, value), value, unfinished }
  return { field: kept ?? { kind: "json" }, typed: unfinished.typed, value, unfinished }
}

/** Calls when the page is left, before those who keep the document hear of it. */
const onLeaving = (call: () => void): (() => void) => {
  const stop = new AbortController()
  const options = { capture: true, signal: stop.signal }
  window.addEventListener("pagehide", call, options)
  window.addEventListener("beforeunload", call, options)
  document.addEventListener("visibilitychange", call, options)
  return () => stop.abort()
}

/** What waits for the pause, and what follows it. */
const useWaiting = (stored: StoredInput) => {
  const latest = useRef(stored)
  const waiting = useRef<{ readonly field: Field; readonly typed: Typed; stop: () => void }>(
    undefined,
  )
  useLayoutEffect(() => {
    latest.current = stored
  })
  const flush = useCallback(() => {
    const { current } = waiting
    if (current === undefined) return
    waiting.current = undefined
    current.stop()
    const { onUnfinished, onValue, unfinished, value } = latest.current
    const read = valueOf(current.field, current.typed)
    if ("problem" in read) return onUnfinished({ kind: current.field.kind, typed: current.typed })
    if (unfinished !== undefined) onUnfinished(undefined)
    if (!isSame(read.value, value)) onValue(read.value)
  }, [])
  const wait = useCallback(
    (field: Field, typed: Typed) => {
      waiting.current?.stop()
      const timer = setTimeout(flush, pauseMillis)
      const stay = onLeaving(flush)
      const stop = () => {
        clearTimeout(timer)
        stay()
      }
      waiting.current = { field, typed, stop }
    },
    [flush],
  )
  useEffect(() => flush, [flush])
  return { flush, wait, waiting }
}

/** The input as it is shown, and what can be done with it. */
export const useTypedInput = (stored: StoredInput): TypedInput => {
  const { unfinished, value } = stored
  const { flush, wait, waiting } = useWaiting(stored)
  const [local, setLocal] = useState<Local>()
  const isCurrent =
    local !== undefined &&
    (waiting.current !== undefined ||
      (isSame(local.value, value) && isSame(local.unfinished, unfinished)))
  const { fields } = stored
  const derived = useMemo(
    () => ofDocument({ ...stored, fields, unfinished, value }),
    [fields, unfinished, value],
  )
  const { field, typed: own } = isCurrent ? local : derived
  const typed = useMemo(() => own ?? typedOf(field, value), [own, field, value])
  const read = useMemo(() => valueOf(field, typed), [field, typed])
  const type = (next: Typed) => {
    wait(field, next)
    const then = valueOf(field, next)
    setLocal(
      "problem" in then
        ? { field, typed: next, value, unfinished: { kind: field.kind, typed: next } }
        : { field, typed: next, value: then.value, unfinished: undefined },
    )
  }
  const choose = (next: Field) => {
    flush()
    setLocal({ field: next, value, unfinished: undefined })
    if (unfinished !== undefined) stored.onUnfinished(undefined)
  }
  return {
    field,
    typed,
    problem: "problem" in read ? read.problem : undefined,
    type,
    choose,
    flush,
  }
}
