/**
 * What it means for a node that the egress guard refused a call, or that a call failed.
 */
import { NodeError } from "@millrace/core/engine/CurrentNode"
import type { EgressFailed, EgressRefused } from "@millrace/egress/Egress"

/**
 * The failure of a node. Another attempt may help where the guard permitted the call. `before` is
 * the beginning of its sentence.
 */
export const ofEgress = (error: EgressRefused | EgressFailed, before = ""): NodeError => {
  const message = before + error.message
  const mayHelp = error._tag === "EgressFailed" && error.reason !== "too-large"
  return new NodeError(mayHelp ? { message } : { message, retryable: false })
}
