/**
 * `millrace keys` and `millrace accounts` as an operator meets them: on a database, on a running
 * server and on a folder, with what is for people and what is for programs.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { outcomeOf } from "./LocalCommand.ts"
import { Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()
const token = "operator-token-of-this-test"
let postgres: PostgresServer
let origin = ""

beforeAll(async () => {
  postgres = await PostgresServer.create()
  const server = workshop.start(["serve", "--port", "0"], {
    DATABASE_URL: postgres.url,
    MILLRACE_MASTER_KEY: "ab".repeat(32),
    MILLRACE_ADMIN_TOKEN: token,
    MILLRACE_TRUSTED_PROXIES: "127.0.0.1,::1",
  })
  const [, found = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
  origin = found
})
afterAll(() => postgres.remove())

type Env = Readonly<Record<string, string>>

/** Runs a command that ends by itself. */
const outcome = (env: Env, ...args: ReadonlyArray<string>) => outcomeOf(args, env)

/** The answer to a key. */
const ask = async (secret: string, headers: Env = {}) => {
  const authorization = `Bearer ${secret}`
  const response = await fetch(`${origin}/api/v1/runs`, { headers: { authorization, ...headers } })
  await response.text()
  return response
}

/** The statuses of answers one after the other, up to the first that is a 429. */
const statusesOf = async (most: number, next: () => Promise<Response>) => {
  const statuses: Array<number> = []
  while (statuses.length < most && statuses.at(-1) !== 429) statuses.push((await next()).status)
  return statuses
}

const places: ReadonlyArray<readonly [string, () => Env]> = [
  ["database", () => ({ DATABASE_URL: postgres.url })],
  ["running server", () => ({ MILLRACE_URL: origin, MILLRACE_ADMIN_TOKEN: token })],
]

describe.each(places)("keys and accounts on a %s", (place, env) => {
  const account = `of a ${place}`
  const label = place.split(" ")[0]!
  let secret = ""
  let id = ""

  it("makes an account and shows it", async () => {
    const made = await outcome(env(), "accounts", "create", "--name", account)
    expect([made.code, made.err]).toEqual([0, `Account "${account}"`])
    expect(made.out).toMatch(/^acc_[0-9a-f-]{36}$/)
    const table = await outcome(env(), "accounts", "list")
    expect(table.out.split("\n")[0]).toMatch(/^ID +NAME +CREATED +RUNS AT ONCE$/)
    expect(table.out).toContain(`${made.out}  ${account}  `)
    const { out } = await outcome(env(), "accounts", "list", "--json")
    const { items } = JSON.parse(out) as { items: ReadonlyArray<{ id: string; name: string }> }
    expect(items).toContainEqual(expect.objectContaining({ id: made.out, name: account }))
  })

  it("sets the cap of an account and takes it back, and shows it", async () => {
    const update = (...args: ReadonlyArray<string>) =>
      outcome(env(), "accounts", "update", "--account", account, "--runs-at-once", ...args)
    const capped = await update("20")
    expect([capped.code, capped.err]).toEqual([
      0,
      `Account "${account}" has at most 20 runs in progress`,
    ])
    expect(capped.out).toMatch(/^acc_[0-9a-f-]{36}$/)
    const { out } = await outcome(env(), "accounts", "list")
    expect(out).toMatch(new RegExp(`^${capped.out}  ${account} .* 20$`, "m"))
    const freed = await update("none", "--json")
    expect(JSON.parse(freed.out)).toMatchObject({ id: capped.out, runsAtOnce: null })
  })

  it("makes a key that the server admits, and shows it but for its secret", async () => {
    const args = ["--label", label, "--account", account, "--expires-at", "2100-01-01"]
    const made = await outcome(env(), "keys", "create", ...args, "--per-minute", "7")
    expect(made.code).toBe(0)
    secret = made.out
    expect(secret).toMatch(/^mr_[0-9A-Za-z]{49}$/)
    expect(made.err).toContain(`Key "${label}" of account "${account}", for 7 requests a minute`)
    const { headers, status } = await ask(secret)
    expect([status, headers.get("x-ratelimit-remaining")]).toEqual([200, "6"])
    const listed = await outcome(env(), "keys", "list", "--account", account, "--json")
    const { items } = JSON.parse(listed.out) as { items: ReadonlyArray<Record<string, unknown>> }
    expect(items).toHaveLength(1)
    id = String(items[0]?.["id"])
    expect(items[0]).toMatchObject({
      label,
      prefix: secret.slice(0, 12),
      perMinute: 7,
      expiresAt: "2100-01-01T00:00:00.000Z",
      revokedAt: null,
      lastUsedAt: expect.stringMatching(/^20/) as unknown,
    })
    const table = await outcome(env(), "keys", "list")
    expect(table.out).toMatch(new RegExp(`^${id}  ${account} .* live `, "m"))
    expect(table.out + listed.out).not.toContain(secret)
  })

  it("changes a key by label or id, which holds at once", async () => {
    const changed = await outcome(env(), "keys", "update", label, "--per-minute", "2")
    expect([changed.code, changed.out]).toEqual([0, id])
    expect(changed.err).toContain("is now for 2 requests a minute and 1000 a day")
    // Of five, two minutes admit four at most; the limit that it had before would admit them all.
    expect(await statusesOf(5, () => ask(secret))).toContain(429)
    const args = ["keys", "update", id, "--label", `${label}!`, "--per-minute", "100", "--json"]
    const renamed = await outcome(env(), ...args)
    expect(JSON.parse(renamed.out)).toMatchObject({ id, label: `${label}!`, perMinute: 100 })
    expect((await ask(secret)).status).toBe(200)
  })

  it("revokes a key, which the server refuses from then on", async () => {
    const revoked = await outcome(env(), "keys", "revoke", `${label}!`, "--account", account)
    expect([revoked.code, revoked.out]).toEqual([0, id])
    expect(revoked.err).toContain("is refused from now on")
    expect((await ask(secret)).status).toBe(401)
    const { out } = await outcome(env(), "keys", "list", "--account", account)
    expect(out).toMatch(/ revoked /)
  })

  it("refuses in one line what cannot be", async () => {
    const cap = (name: string, runs: string) =>
      ["accounts", "update", "--account", name, "--runs-at-once", runs] as const
    const refusals: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
      [["keys", "revoke", "nobody"], 1, /^There is no live key "nobody"$/],
      [["keys", "update", id], 2, /^There is nothing to change: /],
      [["keys", "update", id, "--per-day", "0"], 1, /perDay: expected /],
      [["accounts", "create", "--name", " "], 1, /^name: expected 1 to 120 characters$/],
      [cap(account, "0"), 1, /^runsAtOnce: expected a whole number from 1 to 1000000$/],
      [cap("nobody", "5"), 1, /^There is no account "nobody"$/],
    ]
    for (const [args, code, sentence] of refusals) {
      const { err, ...rest } = await outcome(env(), ...args)
      expect(rest).toEqual({ code, out: "" })
      expect(err).toMatch(sentence)
      expect(err.split("\n")).toHaveLength(1)
    }
  })
})

describe("keys on a server that cannot be asked", () => {
  it("says which it was, and never the token", async () => {
    const wrong = "a-wrong-token-0123456789"
    const list = (url: string) =>
      outcome({ MILLRACE_URL: url, MILLRACE_ADMIN_TOKEN: wrong }, "keys", "list")
    const answers = [
      await list(origin),
      await list("http://127.0.0.1:1"),
      await list(`${origin}/x`),
    ]
    expect(answers.map(({ err }) => err.replaceAll(origin, "ORIGIN"))).toEqual([
      "The server at ORIGIN refuses the admin token; use the one it was started with",
      "The server at http://127.0.0.1:1 does not answer",
      "The server at ORIGIN/x has no interface for operators: start it with MILLRACE_ADMIN_TOKEN",
    ])
    expect(JSON.stringify(answers)).not.toContain(wrong)
  })
})

describe("the addresses of bad tokens", () => {
  it("are those that a trusted proxy names, each with a budget of its own", async () => {
    const from = (address: string) => ask("junk", { "x-forwarded-for": `203.0.113.9, ${address}` })
    // The minute may end in between, once: then the budgets of two are spent.
    const statuses = await statusesOf(121, () => from("198.51.100.7"))
    expect(statuses.slice(0, 60)).toEqual(Array(60).fill(401))
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
    expect((await from("198.51.100.8")).status).toBe(401)
  })
})

describe("keys on a folder", () => {
  it("works on the data of a development server that does not run", async () => {
    const folder = `${workshop.folder()}/data`
    const dev = ["dev", "--port", "0", "--no-seed", "--data", folder]
    const server = workshop.start(dev, { MILLRACE_KEY_PREFIX: "dev_" })
    await server.waitFor(/Ctrl-C stops the server/)
    const [, made = ""] = await server.waitFor(/token until it stops: ([0-9a-f]{48})/)
    const [, url = ""] = await server.waitFor(/Operators +(http:\S+)\/api\/admin\/v1/)
    const env = { MILLRACE_ADMIN_TOKEN: made }
    const running = await outcome(env, "keys", "list", "--url", url)
    expect(running.out).toMatch(/ default +first key +dev_/)
    const beside = await outcome({}, "keys", "list", "--data", folder)
    expect([beside.code, beside.err]).toEqual([
      1,
      expect.stringMatching(
        / is in use by process \d+: stop that process, .*--url .*--admin-token/,
      ),
    ])
    await server.end("SIGINT")
    const stopped = await outcome({}, "keys", "list", "--data", folder)
    expect(stopped.out).toBe(running.out)
    const none = await outcome({}, "keys", "list", "--data", `${folder}/none`)
    expect(none.err).toBe(`There is no folder ${folder}/none; millrace dev makes one`)
  })
})
