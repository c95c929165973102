/**
 * The bounds of messages and signals.
 *
 * A part of `Limits.ts`, which gives them to everybody else.
 */

/** How many messages from senders an inbox keeps until nodes take them. */
export const messagesPerRun = 100

/** How long an inbox keeps a message from a sender that no node takes: seven days. */
export const messageMillis = 604_800_000

/** Bytes of JSON text that a message may carry. */
export const messageBytes = 65_536

/** Characters of the name of a message. */
export const messageNameLength = 160

/** Characters of the name of a signal. */
export const signalNameLength = 100

/** Characters of the id that a sender gives a message. */
export const messageIdLength = 255

/** Characters of the correlation of a signal. */
export const correlationLength = 255

/** Signals to one workflow that are kept until a run waits for them. */
export const signalsPerWorkflow = 1_000
