/**
 * Messages to runs, and waits of nodes. A wait ends at a time, with a message of a name, or with
 * whichever comes first.
 *
 * A run has one inbox. Its messages are numbered in the order in which they came. At most one node
 * takes a message. A message that comes before a node waits for it is kept. Leaves out: storing
 * messages, and which node takes which; the store and the engine do that.
 */
import { Schema } from "effect"
import type { MicroCredits } from "./Credits.ts"
import type { JsonObject } from "./Json.ts"
import { Json } from "./Json.ts"
import { messageBytes, messageIdLength, messageNameLength, signalNameLength } from "./Limits.ts"
import { Timestamp } from "./Timestamp.ts"

/** A message in the inbox of a run. */
export const Message = Schema.Struct({
  /** From 1, without gaps, in the order in which the run's messages came. */
  number: Schema.Int,
  /** A node waits for this name. */
  name: Schema.String,
  payload: Json,
  /** When it came, by the store's clock. */
  at: Timestamp,
})
export type Message = typeof Message.Type

/** A message to send. */
export interface NewMessage {
  /**
   * The sender's id for it, of 1 to 255 characters. A second message to the run with the same id is
   * not stored.
   */
  readonly id: string
  readonly name: string
  readonly payload: Json
}

/** The wait of a suspended node. It has at least one of the two; whichever comes first ends it. */
export interface Wait {
  /** A time by the store's clock. */
  readonly until?: Timestamp | undefined
  /** The name of a message that no node has taken; it may have come before the wait. */
  readonly for?: string | undefined
  /** Beside messages of a signal's name, signals to the workflow with this correlation count. */
  readonly correlation?: string | undefined
  /** Only messages count whose payloads pass this rule. */
  readonly filter?: JsonObject | undefined
  /** True for a wait for children that takes all ends that are there, and not one of them. */
  readonly together?: boolean | undefined
}

/** Why a text that names something does not have 1 to `most` characters, as a clause. */
export const problemOfText = (what: string, text: string, most: number): string | undefined =>
  text.length >= 1 && text.length <= most
    ? undefined
    : `the ${what} has ${text.length} characters; it must have 1 to ${most}`

/** Why this cannot be the name of a message, as a clause; `undefined` if it can. */
export const problemOfName = (name: string): string | undefined =>
  problemOfText("name of a message", name, messageNameLength)

/**
 * The id of a message that the engine itself sends. It begins with a character with which nobody
 * else's may, so that no key of a signal is taken for the end of a child.
 */
export const ownMessageId = (id: string): string => `\u0001${id}`

const ownStart = ownMessageId("")

/** What a text says that may be an id of {@link ownMessageId}. */
export const withoutOwnStart = (id: string): string =>
  id.startsWith(ownStart) ? id.slice(ownStart.length) : id

const problemOfId = (id: string): string | undefined =>
  id.startsWith(ownStart)
    ? "the id of a message begins with U+0001; only ids of the engine do"
    : problemOfText("id of a message", id, messageIdLength)

/** Why a message cannot be sent, as a clause; `undefined` if it can. */
export const problemOfMessage = ({ id, name, payload }: NewMessage): string | undefined =>
  problemOfId(id) ?? problemOfName(name) ?? problemOfPayload(payload)

/** Why a payload cannot be sent, as a clause; `undefined` if it can. */
export const problemOfPayload = (payload: Json): string | undefined => {
  const bytes = new TextEncoder().encode(JSON.stringify(payload)).length
  return bytes <= messageBytes
    ? undefined
    : `the payload of the message has ${bytes} bytes as JSON; the limit is ${messageBytes}`
}

/** Why this cannot be the name of a signal, as a clause; `undefined` if it can. */
export const problemOfSignal = (name: string): string | undefined =>
  problemOfText("name of a signal", name, signalNameLength)

/**
 * The name of the message that brings a signal. Other messages of a run have other beginnings, so
 * that a signal is never taken for one of them.
 */
export const signalMessage = (name: string): string => `signal:${name}`

/**
 * The name of the message with which a run tells its parent that it has ended. A node gets it only
 * if it started the run and waits for its children.
 */
export const childMessage = "child"

/** The name of the message with which a run tells a child that nobody waits for it any more. */
export const cancelMessage = "cancel"

/** What a run tells its parent at its end. Its output is read where it is needed. */
export type ChildEnd = {
  readonly runId: string
  /** Which of the node's children it is, from 0. */
  readonly index: number
  readonly status: "COMPLETED" | "FAILED" | "CANCELED"
  readonly error: string | null
  /** What it has cost with its own children. */
  readonly credits: MicroCredits
}

/** What a message tells of the end of a child; `undefined` for any other message. */
export const childEndOf = ({ name, payload }: Message): ChildEnd | undefined =>
  name === childMessage ? (payload as ChildEnd) : undefined
