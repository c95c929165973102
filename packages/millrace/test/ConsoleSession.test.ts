/**
 * Sessions that an application gives its users: what they open, and for how long.
 */
import { createEngine } from "millrace"
import { createConsoleClient } from "millrace/client"
import { describe, expect, it } from "vitest"
import { refusal } from "./Sample.ts"

const url = "http://127.0.0.1"

describe("engine.sessions", () => {
  it("opens the console for the role and the workflows that it is given", async () => {
    await using engine = await createEngine()
    const [mine, other] = [
      await engine.workflows.create({ name: "Mine" }),
      await engine.workflows.create({ name: "Other" }),
    ]
    const { session, token } = await engine.sessions.create({
      role: "viewer",
      workflows: [mine.id],
      expiresIn: "5 minutes",
    })
    expect(Date.parse(session.expiresAt) - Date.parse(session.createdAt)).toBe(300_000)
    const client = createConsoleClient({ url, token: async () => token, fetch: engine.fetch })
    expect(await client.session.get()).toMatchObject({
      id: session.id,
      role: "viewer",
      workflows: [mine.id],
    })
    expect((await client.workflows.get(mine.id)).name).toBe("Mine")
    expect(await refusal(client.workflows.get(other.id))).toMatchObject({
      code: "WORKFLOW_NOT_FOUND",
    })
    expect(await refusal(client.workflows.update(mine.id, { name: "x" }))).toMatchObject({
      code: "FORBIDDEN",
      status: 403,
    })
    await engine.sessions.revoke(session.id)
    expect(await refusal(client.session.get())).toMatchObject({ code: "SESSION_REFUSED" })
  })

  it("keeps the accounts of an application apart", async () => {
    await using engine = await createEngine()
    const { id: accountId } = await engine.accounts.create({ name: "acme" })
    await engine.workflows.create({ name: "Ours" })
    const { session, token } = await engine.sessions.create({ accountId, role: "owner" })
    const client = createConsoleClient({ url, token: async () => token, fetch: engine.fetch })
    expect((await client.workflows.list()).items).toEqual([])
    const made = await client.workflows.create({ name: "Theirs" })
    expect((await engine.account(accountId).workflows.get(made.id)).name).toBe("Theirs")
    const key = await client.keys.create({ label: "ci" })
    expect(await client.keys.list()).toHaveLength(1)
    expect((await client.keys.revoke(key.id)).revokedAt).not.toBeNull()
    expect(await engine.sessions.list()).toEqual([])
    expect(await refusal(engine.sessions.revoke(session.id))).toMatchObject({
      code: "SESSION_NOT_FOUND",
    })
    expect(await engine.sessions.revokeAll({ account: "acme" })).toBe(1)
    expect(await refusal(client.session.get())).toMatchObject({ code: "SESSION_REFUSED" })
  })

  it("makes a link that signs a browser in once, also below a base path", async () => {
    await using engine = await createEngine({ basePath: "/flows/" })
    const { path, ticket } = await engine.sessions.link({ role: "editor" })
    expect(path).toBe(`/flows/dashboard/login#t=${ticket}`)
    const cookies: Array<string> = []
    const client = createConsoleClient({
      url: `${url}/flows`,
      fetch: async (request) => {
        request.headers.set("sec-fetch-site", "same-origin")
        request.headers.set("origin", url)
        if (cookies.length > 0) request.headers.set("cookie", cookies.join("; "))
        const response = await engine.fetch(request)
        cookies.push(...response.headers.getSetCookie().map((each) => each.split(";")[0]!))
        return response
      },
    })
    expect(await client.session.signIn({ ticket })).toMatchObject({ role: "editor" })
    expect(cookies).toEqual([expect.stringMatching(/^millrace-[0-9a-f]{8}=mrs_/)])
    expect((await client.workflows.create({ name: "Drawn" })).name).toBe("Drawn")
    expect(await refusal(client.session.signIn({ ticket }))).toMatchObject({
      code: "TICKET_REFUSED",
    })
    await client.session.signOut()
    expect(await refusal(client.session.get())).toMatchObject({ code: "SESSION_REFUSED" })
  })

  it("refuses what no session can be, in one sentence, and makes none", async () => {
    await using engine = await createEngine()
    const wrong: ReadonlyArray<readonly [object, string, RegExp]> = [
      [{ role: "operator" }, "INVALID_REQUEST", /role/],
      [{ role: "viewer", account: "nobody" }, "ACCOUNT_NOT_FOUND", /nobody/],
      [{ role: "viewer", accountId: "acc_none" }, "ACCOUNT_NOT_FOUND", /acc_none/],
      [{ role: "viewer", account: "a", accountId: "b" }, "INVALID_REQUEST", /and not both/],
      [{ role: "viewer", expiresIn: "8 days" }, "INVALID_SESSION", /7 days/],
      [{ role: "viewer", expiresIn: "soon" }, "INVALID_REQUEST", /expiresIn/],
      [{ role: "viewer", workflows: [] }, "INVALID_REQUEST", /1 to 100/],
      [{ role: "viewer", until: "noon" }, "INVALID_REQUEST", /until/],
    ]
    for (const [given, code, message] of wrong) {
      const refused = await refusal(engine.sessions.create(given as never))
      expect([refused.code, refused.message]).toEqual([code, expect.stringMatching(message)])
    }
    expect(await engine.sessions.list()).toEqual([])
  })
})
