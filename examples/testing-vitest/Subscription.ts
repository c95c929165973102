/**
 * A subscription: it charges a card, waits for a month, and thanks.
 */
import type { Engine } from "millrace"
import { defineNode } from "millrace"
import { z } from "zod"

/** Charges a card, and tries again after 5 seconds, 5 minutes and 2 hours. */
const charge = defineNode({
  type: "pay.charge",
  inputs: { cents: z.number() },
  outputs: { receipt: z.string() },
  retry: { attempts: 4, initial: "5 seconds", factor: 60, max: "2 hours" },
  run: async ({ idempotencyKey, inputs, signal }) => {
    const answer = await fetch("https://bank.example.com/charges", {
      method: "POST",
      headers: { "idempotency-key": idempotencyKey },
      body: JSON.stringify(inputs),
      signal,
    })
    return z.object({ receipt: z.string() }).parse(await answer.json())
  },
})

const thank = defineNode({
  type: "mail.thank",
  inputs: { receipt: z.string() },
  outputs: {},
  run: () => undefined,
})

/** The node types of the subscription. */
export const nodes = [charge, thank] as const

/** Stores the workflow and starts a run of it. */
export const subscribe = async (engine: Engine<typeof nodes>) => {
  const { id: workflowId } = await engine.workflows.create(
    engine
      .workflow("Subscription")
      .node("charge", "pay.charge", { cents: 500 })
      .node("month", "delay", { for: "30 days" })
      .node("thank", "mail.thank")
      .edge("charge.receipt", "month.input")
      .edge("month.output", "thank.receipt"),
  )
  return engine.runs.start({ workflowId })
}
