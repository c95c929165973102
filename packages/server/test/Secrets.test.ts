/**
 * `millrace secrets` as an operator meets it, on a database and on a running server: a value comes
 * from standard input, and comes out nowhere.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { outcomeOf } from "./LocalCommand.ts"
import { Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()
const token = "operator-token-of-this-test"
const masterKey = "ab".repeat(32)
const value = "sk_live_51HxYz"
let postgres: PostgresServer
let origin = ""

beforeAll(async () => {
  postgres = await PostgresServer.create()
  const server = workshop.start(["serve", "--port", "0"], {
    DATABASE_URL: postgres.url,
    MILLRACE_MASTER_KEY: masterKey,
    MILLRACE_ADMIN_TOKEN: token,
  })
  const [, found = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
  origin = found
})
afterAll(() => postgres.remove())

type Env = Readonly<Record<string, string>>

const places: ReadonlyArray<readonly [string, () => Env]> = [
  ["database", () => ({ DATABASE_URL: postgres.url, MILLRACE_MASTER_KEY: masterKey })],
  ["running server", () => ({ MILLRACE_URL: origin, MILLRACE_ADMIN_TOKEN: token })],
]

describe.each(places)("millrace secrets on a %s", (place, env) => {
  const account = `of a ${place}`
  const run = (input: string, ...args: ReadonlyArray<string>) =>
    outcomeOf(["secrets", ...args, "--account", account], env(), input)

  it("sets one, lists it without its value, and removes it", async () => {
    await outcomeOf(["accounts", "create", "--name", account], env())
    const hosts = ["--host", "API.example.com", "--host", "*.example.org"]
    const made = await run(`${value}\n`, "set", "shop_token", ...hosts)
    expect(made).toEqual({
      code: 0,
      out: "shop_token",
      err: `Secret "shop_token" of account "${account}" may go to api.example.com, *.example.org`,
    })
    const table = await run("", "list")
    expect(table.out.split("\n")[0]).toMatch(/^NAME +HOSTS +SET +LAST USED +WORKFLOWS$/)
    expect(table.out).toMatch(/shop_token +api\.example\.com \*\.example\.org +\d.+ never +0$/)
    const { out } = await run("", "list", "--json")
    expect(JSON.parse(out)).toEqual({
      items: [expect.objectContaining({ name: "shop_token", lastUsedAt: null, usedBy: [] })],
    })
    expect([made.err, table.out, out].join()).not.toContain(value)
    const removed = await run("", "remove", "shop_token")
    expect([removed.code, removed.out, removed.err]).toEqual([0, "shop_token", ""])
    expect((await run("", "list")).err).toBe("There are no secrets")
  })

  it("refuses in one sentence, without the value", async () => {
    const short = await run("secret1", "set", "shop_token", "--host", "api.example.com")
    expect([short.code, short.out]).toEqual([1, ""])
    expect(short.err).toMatch(/^value: expected at least 8 characters, 4 of them different: /)
    expect(short.err).not.toContain("secret1")
    const nowhere = await run(value, "set", "shop_token")
    expect([nowhere.code, nowhere.out]).toEqual([2, ""])
    const typed = await run("", "set", "shop_token", value, "--host", "api.example.com")
    expect(typed.code).toBe(2)
    const long = await run("aB3$".repeat(50_000), "set", "x", "--host", "api.example.com")
    expect(long.err).toBe("value: expected at most 65536 bytes")
    expect((await run("", "remove", "shop_token")).err).toBe("Secret shop_token does not exist")
    expect((await run("", "list")).err).toBe("There are no secrets")
  })
})
