/** A node type: what an order costs, at a rate by country. */
import { defineNode } from "millrace"
import { z } from "zod"

const rates: Readonly<Record<string, number>> = { DE: 0.19, FR: 0.2, PT: 0.23 }

export const price = defineNode({
  type: "shop.price",
  version: 1,
  title: "Price with tax",
  description: "Adds the tax of a country to the price of some pieces.",
  category: "shop",
  inputs: { quantity: z.number().int().min(1), price: z.number(), country: z.string() },
  outputs: { total: z.number() },
  run: ({ inputs, log }) => {
    const { country, price: each, quantity } = inputs
    const rate = rates[country]
    if (rate === undefined) throw new Error(`there is no rate for ${country}`)
    log.info("found the rate", { rate })
    return { total: Math.round(quantity * each * (1 + rate) * 100) / 100 }
  },
})
