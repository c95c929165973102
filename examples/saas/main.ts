/**
 * A product with two tenants in one process: each has an account with workflows, runs, credits and
 * sign-in of its own, and nobody sees anything of somebody else. Everything is kept in memory; with
 * `postgres(url)` any number of these processes share one database.
 */
import { createEngine, defineNode, MillraceError } from "millrace"
import { z } from "zod"

const enrich = defineNode({
  type: "crm.enrich",
  inputs: { email: z.string() },
  outputs: { company: z.string() },
  credits: 2,
  run: ({ inputs }) => ({ company: inputs.email.split("@")[1] ?? "unknown" }),
})

/** Who is signed in, by session: the account of the tenant. Yours are in a database. */
const sessions = new Map<string, string>()

await using engine = await createEngine({
  nodes: [enrich],
  authorize: (request) => {
    const accountId = sessions.get(request.headers.get("x-session") ?? "")
    return accountId === undefined ? null : { accountId }
  },
})

/** A customer signs up: an account, credits for the trial, and the first workflow. */
const signUp = async (name: string, credits: number) => {
  const { id } = await engine.accounts.create({ name })
  const tenant = engine.account(id)
  await tenant.credits.meter({ metered: true, actor: "sign-up", reason: "trial" })
  // The same id again changes nothing, so a repeated request grants nothing twice.
  const trial = { id: `trial of ${id}`, actor: "sign-up", reason: "trial" }
  await tenant.credits.grant({ ...trial, amount: credits })
  const { id: workflowId } = await tenant.workflows.create(
    engine.workflow("New lead").node("enrich", "crm.enrich", { email: "{{ values.email }}" }),
  )
  sessions.set(`session-of-${name}`, id)
  return { name, tenant, workflowId }
}

const acme = await signUp("acme", 5)
const globex = await signUp("globex", 1)

for (const { name, tenant, workflowId } of [acme, globex]) {
  const start = { workflowId, values: { email: `ada@${name}.example.com` } }
  try {
    const run = await (await tenant.runs.start(start)).wait()
    console.log(name, run.status, run.nodes["enrich"]?.output)
  } catch (error) {
    if (error instanceof MillraceError) console.log(name, error.code, error.message)
  }
  const { balance } = await tenant.credits.get()
  console.log(name, "has", balance.available, "credits left")
}

// The tenants' browsers speak HTTP. The workflow of another tenant looks like none.
for (const session of ["session-of-acme", "session-of-globex", "nobody"]) {
  const url = `http://app.example.com/api/v1/workflows/${acme.workflowId}`
  const response = await engine.fetch(new Request(url, { headers: { "x-session": session } }))
  console.log(session, response.status)
}
