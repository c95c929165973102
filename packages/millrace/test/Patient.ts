/**
 * A node type that does what a test says.
 */
import { defineNode } from "millrace"
import { z } from "zod"

/** Puts out its text once `work` is done. */
export const patient = (work: () => Promise<void>) =>
  defineNode({
    type: "patient",
    inputs: { text: z.string() },
    outputs: { text: z.string() },
    run: async ({ inputs }) => {
      await work()
      return { text: inputs.text }
    },
  })
