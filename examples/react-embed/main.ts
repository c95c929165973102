/**
 * Builds the page, starts the application, and calls it as the pages of two customers do: each sees
 * its own workflows, and nothing of the other. `npm start` serves it to look at.
 */
import { createConsoleClient } from "millrace/client"
import { build } from "vite"
import { startHost } from "./Host.ts"

await build({ configFile: new URL("vite.config.ts", import.meta.url).pathname, logLevel: "error" })
const host = await startHost(0)

const customerOf = async (name: string) => {
  const signIn = await fetch(`${host.origin}/sign-in/${name}`, { method: "POST" })
  const cookie = signIn.headers.get("set-cookie")?.split(";")[0] ?? ""
  const asked = await fetch(`${host.origin}/flows-token`, { method: "POST", headers: { cookie } })
  const token = await asked.text()
  return createConsoleClient({ url: `${host.origin}/flows`, token: async () => token })
}

const html = await (await fetch(host.origin)).text()
console.log("the page", html.includes('<div id="root">') ? "is served" : "is missing")
const ada = await customerOf("ada")
const grace = await customerOf("grace")
const [lead] = (await ada.workflows.list()).items
const run = await ada.runs.start({ workflowId: lead!.id, values: { email: "bob@example.com" } })
console.log("ada's run put out", (await run.wait()).output)
console.log("grace sees", (await grace.runs.list()).items.length, "runs")
for (const read of [() => grace.workflows.get(lead!.id), () => grace.runs.get(run.id)]) {
  await read().catch((error: { code: string }) => console.log("grace gets", error.code))
}
const stranger = await fetch(`${host.origin}/flows-token`, { method: "POST" })
console.log("a stranger gets", stranger.status)
await host.close()
