/**
 * Options of the wrong type, as JavaScript may give them: each is refused in one sentence, before
 * anything is opened.
 */
import type { LogEntry } from "millrace"
import { createEngine } from "millrace"
import { testEngine } from "millrace/testing"
import { describe, expect, it } from "vitest"
import { gate, refusal } from "./Sample.ts"

const time = 'expected milliseconds, or words such as "10 seconds"'
const store = "store: expected memory(), pglite(folder), sqlite(file) or postgres(url)"
const values = "values: expected folderValues(folder) or s3Values(options)"
const account = "account: expected the name of an account, 1 to 120 characters"
const object = "expected an object with options"
const prices = "prices: expected an object with a price for each node type"
const webhooks = "webhooks: expected false, or an object with options"
const port = "expected a port from 1 to 65535"
const network = "[0]: cidr: expected a network such as 127.0.0.1/32"

const wrong: ReadonlyArray<readonly [options: unknown, sentence: string]> = [
  [null, object],
  [7, object],
  ["memory", object],
  [[], object],
  [() => 1, object],
  [{ store: null }, store],
  [{ store: "postgres://localhost/flows" }, store],
  [{ store: { layer: 1 } }, store],
  [{ values: "./values" }, values],
  [{ nodes: {} }, "nodes: expected an array"],
  [{ nodes: null }, "nodes: expected an array"],
  [{ nodes: [null] }, "nodes: [0]: expected what defineNode returns"],
  [{ nodes: [{ type: "a", run: () => ({}) }] }, "nodes: [0]: expected what defineNode returns"],
  [{ builtin: "no" }, "builtin: expected true or false"],
  [{ account: 7 }, account],
  [{ account: "a\0b" }, account],
  [{ account: "" }, account],
  [{ basePath: 7 }, 'basePath: expected a path such as "/automation"'],
  [{ authorize: true }, "authorize: expected a function"],
  [{ logger: console }, "logger: expected a function"],
  [{ grace: null }, `grace: ${time}`],
  [{ grace: -1 }, `grace: ${time}`],
  [{ lease: "soon" }, `lease: ${time}`],
  [{ lease: 0 }, "lease: expected 1 second to 1 hour"],
  [{ prices: null }, prices],
  [{ prices: [] }, prices],
  [{ limits: 7 }, "limits: expected an object"],
  [{ limits: { runsAtOnce: "7" } }, "limits: runsAtOnce: expected a whole number from 1"],
  [{ egress: null }, "egress: expected an object"],
  [{ egress: { allow: "127.0.0.1/32" } }, "egress: allow: expected an array"],
  [{ egress: { allow: [null] } }, "egress: allow: [0]: expected an object"],
  [{ egress: { allow: [{}] } }, "egress: allow: [0]: cidr: is missing"],
  [{ egress: { allow: [{ cidr: 7 }] } }, `egress: allow: ${network}`],
  [
    { egress: { allow: [{ cidr: "127.0.0.1/32", prot: 80 }] } },
    'egress: allow: [0]: unknown field "prot"; known are cidr, port',
  ],
  [
    { egress: { allow: [{ cidr: "127.0.0.1/32", port: "80" }] } },
    `egress: allow: [0]: port: ${port}`,
  ],
  [{ egress: { smtpPorts: 25 } }, "egress: smtpPorts: expected an array"],
  [{ egress: { postgresPorts: [0] } }, `egress: postgresPorts: [0]: ${port}`],
  [{ masterKey: 7 }, "masterKey: expected a text"],
  [{ webhooks: true }, webhooks],
  [{ webhooks: { masterKey: 7 } }, "webhooks: masterKey: expected a text"],
  [
    { grase: 1, builtin: 0 },
    'unknown field "grase"; did you mean "grace"?; builtin: expected true or false',
  ],
]

describe("createEngine", () => {
  it.each(wrong)("refuses %j", async (options, sentence) => {
    const error = await refusal(createEngine(options as never))
    expect([error.code, error.message]).toEqual(["INVALID_REQUEST", `createEngine: ${sentence}`])
  })

  it("takes undefined for an option that is left out", async () => {
    const names = ["store", "values", "nodes", "builtin", "account", "basePath", "authorize"]
    const more = ["grace", "lease", "prices", "limits", "egress", "masterKey", "webhooks", "logger"]
    const options = Object.fromEntries([...names, ...more].map((name) => [name, undefined]))
    await using engine = await createEngine(options)
    expect((await engine.status()).isReady).toBe(true)
  })
})

describe("testEngine", () => {
  it("refuses options as createEngine does", async () => {
    for (const options of [null, 7, []]) {
      const error = await refusal(testEngine(options as never))
      expect(error.message).toBe(`testEngine: ${object}`)
    }
    const error = await refusal(testEngine({ grace: "soon" as never }))
    expect(error.message).toBe(`testEngine: grace: ${time}`)
  })
})

describe("createEngine({ logger })", () => {
  it("gets what would go to stderr, and an engine goes on when it throws", async () => {
    const lines: Array<LogEntry> = []
    const warned = gate()
    const logger = (line: LogEntry) => {
      lines.push(line)
      warned.open()
      throw new Error("the log is full")
    }
    await using engine = await createEngine({
      authorize: () => ({ account: "nobody" }),
      logger,
    })
    await engine.fetch(new Request("http://app.test/api/v1/runs"))
    await warned.opened
    const message = 'authorize: there is no account {"account":"nobody"}; the answer is 401'
    expect(lines).toMatchObject([{ level: "warn", message, fields: {} }])
    expect(lines[0]?.time).toBeInstanceOf(Date)
    expect((await engine.status()).isReady).toBe(true)
  })
})
