/**
 * `millrace credits` and `millrace doctor` as an operator meets them: on a database, on a running
 * server and on a folder, with what is for people and what is for programs.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { query } from "./kill/Sql.ts"
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
    MILLRACE_ADMIN_TOKEN: token,
  })
  const [, found = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
  origin = found
})
afterAll(() => postgres.remove())

type Env = Readonly<Record<string, string>>

/** Runs a command that ends by itself. */
const outcome = (env: Env, ...args: ReadonlyArray<string>) =>
  outcomeOf(args, { USER: "ada", ...env })

const places: ReadonlyArray<readonly [string, () => Env]> = [
  ["database", () => ({ DATABASE_URL: postgres.url })],
  ["running server", () => ({ MILLRACE_URL: origin, MILLRACE_ADMIN_TOKEN: token })],
]

describe.each(places)("credits on a %s", (place, env) => {
  const account = `of a ${place}`
  const credits = (...args: ReadonlyArray<string>) =>
    outcome(env(), "credits", ...args, "--account", account)

  it("are granted, once under one name, and metered", async () => {
    expect((await outcome(env(), "accounts", "create", "--name", account)).code).toBe(0)
    const words = ["grant", "--amount", "12.5", "--reason", "welcome", "--id", "g1"]
    const made = await credits(...words, "--expires-at", "2100-01-01", "--priority", "2")
    expect(made).toEqual({
      code: 0,
      out: "g1",
      err: `Account "${account}" is not metered: 12.5 credits available, 0 reserved`,
    })
    expect((await credits(...words)).err).toContain("12.5 credits available")
    const metered = await credits("meter", "--reason", "contract")
    expect(metered.out).toMatch(/^deed_/)
    expect(metered.err).toContain("is metered")
  })

  it("are corrected and shown", async () => {
    const adjusted = await credits("adjust", "--amount=-2.25", "--reason", "x", "--actor", "eve")
    expect([adjusted.code, adjusted.err]).toEqual([0, expect.stringContaining("10.25 credits")])
    const shown = await credits("show")
    expect(shown.err).toBe(`Account "${account}" is metered: 10.25 credits available, 0 reserved`)
    expect(shown.out).toMatch(/^GRANT +AMOUNT +REMAINING +PRIORITY +EXPIRES +ACTOR +REASON\n/)
    expect(shown.out).toMatch(/^g1 +12.5 +10.25 +2 +2100-01-01T00:00:00.000Z +ada +welcome$/m)
    const json = JSON.parse((await credits("show", "--json")).out) as object
    expect(json).toMatchObject({
      balance: { metered: true, posted: 10.25, reserved: 0, available: 10.25 },
      grants: [{ id: "g1", amount: 12.5 }],
    })
  })

  it("have a ledger, for people, for programs and for spreadsheets", async () => {
    const table = await credits("statement", "--limit", "1")
    expect(table.out.split("\n")).toHaveLength(2)
    expect(table.out).toMatch(/ adjust +-2.25 +0 +- +- +eve +x$/m)
    const entries = JSON.parse((await credits("statement", "--json")).out) as ReadonlyArray<object>
    expect(entries).toMatchObject([{ kind: "adjust" }, { kind: "meter" }, { kind: "grant" }])
    const csv = await credits("statement", "--csv")
    expect(csv.out.split(/\r?\n/)).toEqual([
      "number,at,kind,posted,reserved,runId,nodeId,part,actor,reason",
      expect.stringMatching(/,adjust,-2.25,0,,,deed_[^,]+,eve,x$/),
      expect.stringMatching(/,meter,0,0,,,deed_[^,]+,ada,contract$/),
      expect.stringMatching(/,grant,12.5,0,,,g1,ada,welcome$/),
    ])
  })

  it("are refused in one line where they cannot be", async () => {
    const refusals: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
      [["grant", "--amount", "0.0000001", "--reason", "x"], 1, /^amount: expected a number of /],
      [["grant", "--amount", "0", "--reason", "x"], 1, /^amount: expected an amount other than 0/],
      [["grant", "--amount", "1", "--reason", " "], 1, /^reason: /],
      [["grant", "--amount", "1", "--reason", "x", "--expires-at", "x"], 1, /^expiresAt: /],
    ]
    for (const [args, code, sentence] of refusals) {
      const { err, ...rest } = await credits(...args)
      expect(rest).toEqual({ code, out: "" })
      expect(err).toMatch(sentence)
      expect(err.split("\n")).toHaveLength(1)
    }
    const nobody = await outcome(env(), "credits", "show", "--account", "nobody")
    expect([nobody.code, nobody.err]).toEqual([1, 'There is no account "nobody"'])
  })

  it("add up, says the doctor", async () => {
    const { code, err, out } = await outcome(env(), "doctor")
    expect([code, out]).toEqual([0, ""])
    expect(err).toMatch(/^All credits add up: read the credits of \d accounts?$/)
  })
})

describe("millrace doctor", () => {
  it("names what does not add up, and fails", async () => {
    expect((await outcome(places[0]![1](), "accounts", "create", "--name", "new")).code).toBe(0)
    await query(postgres.url, "UPDATE credit_accounts SET posted = posted + 1000000")
    for (const [, env] of places) {
      const { code, err, out } = await outcome(env(), "doctor")
      expect(code).toBe(1)
      expect(out).toMatch(/^acc_\S+: posted is 11.25, and its entries add up to 10.25$/m)
      expect(err).toMatch(/^Found \d things that do not add up: read the credits of 3 accounts$/)
      const json = await outcome(env(), "doctor", "--json")
      const { accounts } = JSON.parse(json.out) as { accounts: number }
      expect([json.code, accounts]).toEqual([1, 3])
    }
  })
})
