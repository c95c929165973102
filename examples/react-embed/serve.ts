/**
 * Builds the page, starts the application, and goes on until it is stopped.
 */
import { build } from "vite"
import { startHost } from "./Host.ts"

await build({ configFile: new URL("vite.config.ts", import.meta.url).pathname, logLevel: "warn" })
const { origin } = await startHost(Number(process.env["PORT"] ?? 3000))
console.log(`${origin}: sign in as ada of Acme, or as grace of Globex`)
