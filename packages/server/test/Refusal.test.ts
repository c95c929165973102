/**
 * What is typed wrong, and folders that are not to be had.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { outcomeOf } from "./LocalCommand.ts"
import { ready, Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()

/** Runs a command that ends by itself. */
const outcome = async (args: ReadonlyArray<string>, env?: Readonly<Record<string, string>>) => {
  const { err, ...rest } = await outcomeOf(args, env ?? {})
  return { ...rest, err: err.split("\n") }
}

/** Every file of a folder with its content, to see that nothing was touched. */
const contentOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => statSync(join(folder, name)).isFile())
      .map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  )

describe("dev on the command line", () => {
  it("shows help and the version", async () => {
    const help = await outcome(["dev", "--help"])
    expect(help.code).toBe(0)
    for (const flag of ["--port", "--host", "--data", "--memory", "--no-seed"]) {
      expect(help.out).toContain(flag)
    }
    const { version } = JSON.parse(
      readFileSync(new URL("../package.json", import.meta.url), "utf8"),
    ) as { readonly version: string }
    expect(await outcome(["--version"])).toEqual({ code: 0, out: version, err: [""] })
  })

  it.each([
    [["dev", "--prot", "1"], "Unrecognized flag: --prot in command millrace dev; did you mean"],
    [["dev", "--port", "99999"], "Expected a port from 0 to 65535"],
    [["dev", "--port", "1e3"], "Expected a port from 0 to 65535"],
    [["dev", "extra"], 'Unexpected positional argument: "extra"'],
    [["div"], 'Unknown subcommand "div" for "millrace"; did you mean dev?'],
  ])("refuses %j in one line and a hint, with code 2", async (args, sentence) => {
    const { code, err, out } = await outcome(args)
    expect([code, out]).toEqual([2, ""])
    expect(err).toEqual([
      expect.stringContaining(sentence),
      expect.stringMatching(/^Run millrace( dev)? --help for its commands and flags$/),
    ])
  })

  it("refuses a folder for what is kept nowhere", async () => {
    const { code, err } = await outcome(["dev", "--memory", "--data", "somewhere"])
    expect(code).toBe(2)
    expect(err).toEqual(["--memory keeps nothing, so it cannot be used together with --data"])
  })

  it("names every variable that makes no sense, in one line", async () => {
    const env = { MILLRACE_PORT: "many", MILLRACE_EGRESS_ALLOW: "everything" }
    const { code, err } = await outcome(["dev"], env)
    expect(code).toBe(2)
    expect(err).toEqual([
      "MILLRACE_PORT: expected a port from 0 to 65535; MILLRACE_EGRESS_ALLOW: expected networks " +
        "such as 127.0.0.1/32:8080,[::1]/128, separated by commas",
    ])
  })

  it("refuses a host that is no address of this machine", async () => {
    const { code, err } = await outcome(["dev", "--memory", "--port", "0", "--host", "192.0.2.1"])
    expect(code).toBe(1)
    expect(err).toEqual(['This machine has no address "192.0.2.1"; choose another with --host'])
  })
})

describe("dev with a folder that is not to be had", () => {
  const refused = async (folder: string) => {
    const before = contentOf(folder)
    const result = await outcome(["dev", "--port", "0", "--data", folder])
    expect(contentOf(folder)).toEqual(before)
    expect([result.code, result.out, result.err.length]).toEqual([1, "", 1])
    return result.err[0]
  }

  it("refuses a folder with somebody else's files, in one line, and touches nothing", async () => {
    const folder = workshop.folder()
    writeFileSync(join(folder, "thesis.txt"), "chapter 1")
    expect(await refused(folder)).toMatch(/holds files that are not Millrace's/)
  })

  it("refuses a damaged folder, in one line, and touches nothing", async () => {
    const folder = workshop.folder()
    writeFileSync(join(folder, "millrace.json"), '{"format":1}')
    mkdirSync(join(folder, "database"))
    writeFileSync(join(folder, "database", "PG_VERSION"), "17\n")
    expect(await refused(folder)).toMatch(/cannot be used/)
  })

  it("refuses a folder from a newer version, in one line, and touches nothing", async () => {
    const folder = workshop.folder()
    writeFileSync(join(folder, "millrace.json"), '{"format":2}')
    expect(await refused(folder)).toMatch(/newer version/)
  })
})

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
)

describe("dev on an address of its own", () => {
  it.runIf(hasIpv6)("says where it is in a form that works, on IPv6 too", async () => {
    const server = workshop.start(["dev", "--memory", "--port", "0", "--host", "::1"])
    const origin = await ready(server)
    expect(origin).toMatch(/^http:\/\/\[::1\]:\d+$/)
    expect(server.stdout).toMatch(/Order digest: COMPLETED/)
    expect(server.stdout).toContain(`curl -H "Authorization: Bearer`)
    expect(server.stdout).toContain(`'${origin}/api/v1/runs'`)
  })
})
