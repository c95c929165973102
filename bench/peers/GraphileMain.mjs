// graphile-worker as a contestant; the argument is its variant.
import { measuring, offer } from "../contest/Contestant.ts"
import { openGraphile } from "./Graphile.mjs"

const variant = /** @type {"single" | "bulk" | "kept"} */ (process.argv[2])

offer(async (url) => {
  const { close, start } = await openGraphile(url, variant)
  return { measure: measuring(start), close }
})
