/**
 * Commands for operators say the same wherever they work: on a running server, in its database, and
 * in a folder of a development server.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { outcomeOf } from "./LocalCommand.ts"
import { Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()
const token = "operator-token-of-this-test"
const folder = `${workshop.folder()}/data`
let postgres: PostgresServer
let origin = ""

/** Where browsers reach the server, which differs from where commands do. */
const known = { MILLRACE_PUBLIC_URL: "https://flows.example.com/automation" }

type Env = Readonly<Record<string, string>>

beforeAll(async () => {
  postgres = await PostgresServer.create()
  const server = workshop.start(["serve", "--port", "0"], {
    DATABASE_URL: postgres.url,
    MILLRACE_ADMIN_TOKEN: token,
    ...known,
  })
  origin = (await server.waitFor(/listens on (http:[^" ]+)/))[1] ?? ""
  const dev = workshop.start(["dev", "--port", "0", "--no-seed", "--data", folder])
  await dev.waitFor(/Ctrl-C stops the server/)
  await dev.end("SIGINT")
}, 300_000)
afterAll(() => postgres.remove())

const places: ReadonlyArray<() => Env> = [
  () => ({ MILLRACE_URL: origin, MILLRACE_ADMIN_TOKEN: token }),
  () => ({ DATABASE_URL: postgres.url }),
  () => ({ MILLRACE_DATA: folder }),
]

/** What a command comes to in every place. */
const outcomes = async (...args: ReadonlyArray<string>) => {
  const all = []
  for (const env of places) all.push(await outcomeOf(args, env()))
  return all
}

describe("commands for operators", () => {
  it.each([
    ["webhooks show msg_nobody", "The delivery does not exist"],
    [
      "quarantine release run_nobody",
      /^Run run_nobody is not in quarantine: it has made progress, has ended, or never was /,
    ],
    ["keys create --label x --account default --per-minute 0", /^perMinute: expected /],
    ["webhooks secret --rotate --overlap 999h", /^overlapSeconds: expected /],
  ])("refuse %s in the same words everywhere, with code 1", async (typed, sentence) => {
    const [first, ...others] = await outcomes(...typed.split(" "))
    expect(first).toEqual({ code: 1, out: "", err: expect.stringMatching(sentence) as unknown })
    expect(others).toEqual([first, first])
  })

  it("show node types in use by a server, and say without one that they need it", async () => {
    const [atServer, ...others] = await outcomes("nodes", "usage")
    expect(atServer?.code).toBe(0)
    expect(atServer?.out.split("\n")[0]).toMatch(
      /^TYPE +VERSION +DRAFTS +PUBLISHED +OPEN RUNS +WORKFLOWS +NOTE$/,
    )
    expect(atServer?.out).toMatch(/^http_request +1 +0 +0 +0 *$/m)
    const refused = expect.stringMatching(/^nodes usage asks a server, .* give --url/) as unknown
    expect(others).toEqual([1, 1].map((code) => ({ code, out: "", err: refused })))
  })

  it("print a link at the public address everywhere, and only its path without one", async () => {
    const link = /^https:\/\/flows\.example\.com\/automation\/dashboard\/login#t=mrt_\w{49}$/
    for (const env of places) {
      const { code, out } = await outcomeOf(["open"], { ...env(), ...known })
      expect([code, out]).toEqual([0, expect.stringMatching(link)])
    }
    const { err, out } = await outcomeOf(["open"], { DATABASE_URL: postgres.url })
    expect(out).toMatch(/^\/dashboard\/login#t=mrt_/)
    expect(err).toContain("below the address of your server")
  })

  it("show no run in quarantine in the same words everywhere", async () => {
    const none = { code: 0, out: "", err: "No run is in quarantine" }
    expect(await outcomes("quarantine", "list")).toEqual([none, none, none])
  })

  it("find that all credits add up, everywhere", async () => {
    for (const { code, err, out } of await outcomes("doctor")) {
      expect([code, out]).toEqual([0, ""])
      expect(err).toMatch(/^All credits add up: read the credits of \d accounts?$/)
    }
  })

  it("do as a process of their own what they do here", async () => {
    const [here] = await outcomes("accounts", "list")
    const command = workshop.start(["accounts", "list"], places[0]!())
    const { code } = await command.ended
    expect({ code, out: command.stdout.trimEnd(), err: command.stderr.trimEnd() }).toEqual(here)
  })

  it("guess no account where several are called the same", async () => {
    for (const _ of [1, 2]) await outcomes("accounts", "create", "--name", "twin")
    for (const { code, err } of await outcomes("credits", "show", "--account", "twin")) {
      const sentence =
        'Several accounts are called "twin": use an id that millrace accounts list shows'
      expect([code, err]).toEqual([1, sentence])
    }
  })
})
