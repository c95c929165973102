/**
 * Messages to runs, and what a node waits for: a time, a message of some name, or whichever of the
 * two is first.
 *
 * A run has one inbox. Messages are numbered in the order in which they came, each is taken by one
 * node at most, and one that comes before a node waits for it is kept. Leaves out: keeping them,
 * which is the store's, and who takes which, which is the engine's.
 */
import { Schema } from "effect"
import { Json } from "./Json.ts"
import { messageBytes, messageIdLength, messageNameLength } from "./Limits.ts"
import { Timestamp } from "./Timestamp.ts"

/** A message that a run was sent. */
export const Message = Schema.Struct({
  /** From 1, without gaps, in the order in which the run's messages came. */
  number: Schema.Int,
  /** What a wait asks for. */
  name: Schema.String,
  payload: Json,
  /** When it came, by the store's clock. */
  at: Timestamp,
})
export type Message = typeof Message.Type

/** A message on its way. */
export interface NewMessage {
  /**
   * The sender's own name for it, of 1 to 255 characters: what a run is sent twice under one is one
   * message, the first.
   */
  readonly id: string
  readonly name: string
  readonly payload: Json
}

/** What a suspended node waits for; one of the two at least, and the first of them ends it. */
export interface Wait {
  /** A time by the store's clock. */
  readonly until?: Timestamp | undefined
  /** A message of this name that no node has taken; also one that came before. */
  readonly for?: string | undefined
}

const problemOfText = (what: string, text: string, most: number): string | undefined =>
  text.length >= 1 && text.length <= most
    ? undefined
    : `the ${what} has ${text.length} characters; it must have 1 to ${most}`

/** Why nothing can be sent under this name, as a clause. */
export const problemOfName = (name: string): string | undefined =>
  problemOfText("name of a message", name, messageNameLength)

/** Why a message cannot be sent, as a clause; nothing where it can. */
export const problemOfMessage = ({ id, name, payload }: NewMessage): string | undefined => {
  const problem = problemOfText("id of a message", id, messageIdLength) ?? problemOfName(name)
  if (problem !== undefined) return problem
  const bytes = new TextEncoder().encode(JSON.stringify(payload)).length
  return bytes <= messageBytes
    ? undefined
    : `the payload of the message has ${bytes} bytes as JSON; the limit is ${messageBytes}`
}
