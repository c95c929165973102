/**
 * The application: an Express server with a sign-in of its own, two customers, and the engine under
 * `/flows`. Its pages get short sessions of the engine from it, and never an API key.
 */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import express from "express"
import type { Request } from "express"
import { createEngine, defineNode, toNodeHandler } from "millrace"
import { z } from "zod"

/** A node type of the application. The page gives it an icon and a colour of its own. */
const enrich = defineNode({
  type: "crm.enrich",
  title: "Look up a company",
  icon: "building-2",
  description: "Says for which company somebody works.",
  inputs: { email: z.string() },
  outputs: { company: z.string() },
  run: ({ inputs }) => ({ company: inputs.email.split("@")[1] ?? "unknown" }),
})

/** A person who may sign in. Yours are in a database, with passwords. */
interface Person {
  readonly name: string
  readonly accountId: string
}

/** Where the built page is. */
const page = join(import.meta.dirname, "dist")

/** Starts the application on a port; 0 for any. */
export const startHost = async (port: number) => {
  const engine = await createEngine({ nodes: [enrich], basePath: "/flows", webhooks: false })

  /** A customer: an account of the engine, one person, and a first workflow. */
  const signUp = async (customer: string, name: string) => {
    const { id: accountId } = await engine.accounts.create({ name: customer })
    const { id: workflowId } = await engine.account(accountId).workflows.create(
      engine
        .workflow("New lead")
        .node("lead", "request", { fields: [{ name: "email", type: "string", required: true }] })
        .node("enrich", "crm.enrich")
        .node("out", "response")
        .edge("lead.email", "enrich.email")
        .edge("enrich.company", "out.input"),
    )
    return { name, accountId, workflowId }
  }
  const people = new Map<string, Person>()
  for (const person of [await signUp("Acme", "ada"), await signUp("Globex", "grace")]) {
    people.set(person.name, person)
  }

  /** Who is signed in, by the value of the cookie. */
  const signedIn = new Map<string, Person>()
  const personOf = (request: Request) =>
    signedIn.get(/(?:^|; )app=([^;]+)/.exec(request.headers.cookie ?? "")?.[1] ?? "")

  const app = express()
  app.post("/sign-in/:name", (request, response) => {
    const person = people.get(request.params.name)
    if (person === undefined) return void response.status(401).send("Nobody has this name")
    const value = crypto.randomUUID()
    signedIn.set(value, person)
    response.cookie("app", value, { httpOnly: true, sameSite: "lax" }).json({ name: person.name })
  })
  app.get("/me", (request, response) => void response.json(personOf(request)?.name ?? null))
  const tokenOf = async ({ accountId }: Person) =>
    (await engine.sessions.create({ accountId, role: "editor", expiresIn: "15 minutes" })).token
  // Who is signed in here gets a session there.
  app.post("/flows-token", (request, response, next) => {
    const person = personOf(request)
    if (person === undefined) return void response.status(401).send("Sign in first")
    tokenOf(person).then((token) => response.type("text/plain").send(token), next)
  })
  app.use("/flows", toNodeHandler(engine.fetch))
  app.use(express.static(page))

  const server = app.listen(port, "127.0.0.1")
  await once(server, "listening")
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, "close")
      await engine.close()
    },
  }
}
