/**
 * The tutorial, as a newcomer follows it: its own JSON, sent to the server that it starts.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { ApiClient, hasEnded } from "./ApiClient.ts"
import { ready, Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()
const page = readFileSync(new URL("../../../docs/tutorials/over-http.md", import.meta.url), "utf8")

interface Drawing {
  readonly nodes: ReadonlyArray<object>
  readonly edges: ReadonlyArray<object>
}

interface Validated {
  readonly problems: ReadonlyArray<{ readonly message: string }>
}

/** The block of JSON that holds a text, with the address of this server. */
const block = (part: string, origin: string): unknown => {
  const blocks = Array.from(page.matchAll(/```json\n([^`]+)```/g), ([, text = ""]) => text)
  const found = blocks.find((text) => text.includes(part))
  return JSON.parse((found ?? "").replaceAll("http://127.0.0.1:7411", origin))
}

describe("The tutorial", () => {
  it("ends with the amounts that it shows; its mail lacks only a password", async () => {
    const token = "operator-token-of-this-test"
    const server = workshop.start(["dev", "--port=0", "--memory"], { MILLRACE_ADMIN_TOKEN: token })
    const origin = await ready(server)
    const [secret] = await server.waitFor(/mr_\w+/)
    const client = new ApiClient(origin, secret)
    const admin = `${origin}/api/admin/v1/accounts`
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const { items } = (await (await fetch(admin, { headers })).json()) as {
      items: ReadonlyArray<{ id: string }>
    }
    const set = await fetch(`${admin}/${items[0]?.id}/secrets/shop_token`, {
      method: "PUT",
      headers,
      body: JSON.stringify({ value: "token-of-the-shop-123", hosts: ["127.0.0.1"] }),
    })
    expect(set.ok).toBe(true)

    const report = block("Amounts by country", origin) as Drawing
    const { id } = await client.call<{ id: string }>("POST", "/workflows", report)
    expect(await client.call("POST", `/workflows/${id}/validate`)).toMatchObject({
      valid: true,
      problems: [],
      warnings: [],
    })
    const runId = await client.start(id, { status: "paid" })
    const run = await client.runWhen(runId, hasEnded)
    const shown = block("context", origin) as { context: { output: ReadonlyArray<unknown> } }
    expect(run.status).toBe("COMPLETED")
    const output = run.context.output as ReadonlyArray<unknown>
    expect(output.slice(0, 2)).toEqual(shown.context.output)
    expect(JSON.stringify(run)).not.toContain("token-of-the-shop")

    const mail = block("smtp_password", origin) as object
    const edge = { id: "e6", source: "countries", target: "mail" }
    const drawn = { nodes: [...report.nodes, mail], edges: [...report.edges, edge] }
    const { problems } = await client.call<Validated>("POST", `/workflows/${id}/validate`, drawn)
    expect(problems.map(({ message }) => message)).toEqual([
      'Node "mail": input "password", column 4: the account has no secret "smtp_password"',
    ])
  })
})
