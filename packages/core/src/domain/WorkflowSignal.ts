/**
 * Signals to a workflow: they find the run that waits for them by a correlation, such as the number
 * of an order. So a sender need not know the run, nor whether it has begun.
 *
 * Guarantees: a signal goes to a wait of its name and correlation whose filter it passes. Leaves
 * out: storing signals and waits; the store does that.
 */
import type { Json, JsonObject } from "./Json.ts"
import { correlationLength } from "./Limits.ts"
import type { Message, NewMessage } from "./Message.ts"
import { ownMessageId, problemOfText, signalMessage, withoutOwnStart } from "./Message.ts"
import { passes } from "./Rule.ts"
import type { Run, WaitingNode } from "./Run.ts"
import { isTerminal } from "./Run.ts"
import type { Timestamp } from "./Timestamp.ts"

/** What a signal and the wait for it have in common. */
export interface SignalKey {
  readonly name: string
  readonly correlation: string
}

/** A wait that a signal to the workflow may end. */
export interface SignalWait extends SignalKey {
  /** A rule: only payloads that pass it end the wait. `null`: all do. */
  readonly filter: JsonObject | null
  /** It ends then by the store's clock. */
  readonly until: Timestamp
}

/** A signal to send to a workflow. */
export interface NewWorkflowSignal extends SignalKey {
  /** The sender's id for it. A second signal to the workflow with the same id is not stored. */
  readonly id: string
  /** True if the sender may repeat it: then a store remembers the id for `messageMillis`. */
  readonly isNamed: boolean
  readonly payload: Json
}

/** Why this cannot be a correlation, as a clause; `undefined` if it can. */
export const problemOfCorrelation = (correlation: string): string | undefined =>
  problemOfText("correlation", correlation, correlationLength)

/** The key as one text, without characters that stores refuse. */
export const textOfKey = ({ correlation, name }: SignalKey): string =>
  JSON.stringify([name, correlation])

/** The key that {@link textOfKey} has made a text of. */
export const keyOfText = (text: string): SignalKey => {
  const [name, correlation] = JSON.parse(text) as [string, string]
  return { name, correlation }
}

const prefix = "correlated:"

/** The name of the message that brings a signal to the workflow. */
export const correlatedMessage = (key: SignalKey): string => prefix + textOfKey(key)

/** True for a message that brings a signal to the workflow. */
export const isCorrelated = ({ name }: Pick<Message, "name">): boolean => name.startsWith(prefix)

/** The message with which a run gets a signal to its workflow. */
export const messageOf = ({ id, isNamed, payload, ...key }: NewWorkflowSignal): NewMessage => ({
  id: ownMessageId(`${isNamed ? "named" : "once"}:${JSON.stringify(id)}`),
  name: correlatedMessage(key),
  payload,
})

/** The signal that a message has brought. */
export const signalOf = ({ id, name, payload }: NewMessage): NewWorkflowSignal => {
  const said = withoutOwnStart(id)
  const split = said.indexOf(":")
  const isNamed = said.slice(0, split) === "named"
  const own = JSON.parse(said.slice(split + 1)) as string
  return { ...keyOfText(name.slice(prefix.length)), id: own, isNamed, payload }
}

/** True for a signal that passes the filter of a wait. */
export const passesFilter = (
  { filter }: Pick<SignalWait, "filter">,
  { payload }: Pick<NewWorkflowSignal, "payload">,
): boolean => filter === null || passes(filter, payload)

/** True if the message has the name for which a node waits, and passes its filter. */
export const endsWait = (
  { correlation, filter, for: name }: Pick<WaitingNode, "for" | "correlation" | "filter">,
  message: Message,
): boolean => {
  if (name === undefined) return false
  const isNamed =
    message.name === name ||
    (correlation !== undefined &&
      isCorrelated(message) &&
      message.name === nameOf(name, correlation))
  return isNamed && passesFilter({ filter: filter ?? null }, message)
}

const signalPrefix = signalMessage("")

const nameOf = (waitsFor: string, correlation: string): string =>
  correlatedMessage({ name: waitsFor.slice(signalPrefix.length), correlation })

/** The waits of a run that signals to its workflow may end. */
export const signalWaitsOf = ({
  status,
  waiting,
}: Pick<Run, "status" | "waiting">): ReadonlyArray<SignalWait> =>
  isTerminal(status)
    ? []
    : waiting.flatMap(({ correlation, due, filter = null, for: name }) =>
        name === undefined || correlation === undefined
          ? []
          : [{ name: name.slice(signalPrefix.length), correlation, filter, until: due }],
      )
