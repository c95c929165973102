/**
 * Text that a client gives and a store keeps or looks up: what holds for every one of them.
 *
 * Guarantees: a store gets no text that some database cannot keep unchanged. Leaves out: opaque
 * JSON, which may hold any string and comes back as it was given.
 */
import {
  correlationLength,
  idempotencyKeyLength,
  signalNameLength,
} from "@millrace/core/domain/Limits"
import { Schema } from "effect"

/** Refuses NUL and lone surrogates: SQL databases refuse the one and alter the other. */
export const isStorable = Schema.makeFilter(
  (text: string | null) => text === null || (text.isWellFormed() && !text.includes("\0")),
  { expected: "text without NUL or lone surrogates" },
)

/** An identifier as clients send it: opaque, at least one character. */
export const Identifier = Schema.String.check(Schema.isMinLength(1), isStorable)

const KeyText = Schema.String.check(
  Schema.isPattern(new RegExp(`^[\\x20-\\x7e]{1,${idempotencyKeyLength}}$`), {
    expected: `1 to ${idempotencyKeyLength} visible ASCII characters`,
  }),
)

/** The idempotency key of a start, as clients send it in `Idempotency-Key`. */
export const IdempotencyKeyText = KeyText.annotate({
  description: "A name for this start; a repetition with the same body starts nothing.",
})

/** The same for a signal. */
export const SignalKeyText = KeyText.annotate({
  description: "A name for this signal; a repetition sends nothing.",
})

/** Path parameters of a large value of a run. */
export const ValueParams = Schema.Struct({ id: Identifier, valueId: Identifier })

/** Path parameters of a node of a run. */
export const NodeParams = Schema.Struct({ id: Identifier, nodeId: Identifier })

/** The correlation of a signal to a workflow. */
export const CorrelationText = Identifier.check(Schema.isMaxLength(correlationLength))

/** Path parameters of a signal to a run or a workflow. */
export const SignalParams = Schema.Struct({
  id: Identifier,
  name: Identifier.check(Schema.isMaxLength(signalNameLength)),
})

/** Path parameter `id` of a workflow, a run or a delivery. */
export const IdParams = Schema.Struct({ id: Identifier })
