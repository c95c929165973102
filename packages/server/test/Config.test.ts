import { it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import { assert, describe } from "vitest"
import type { DevFlags, ServeFlags } from "../src/Config.ts"
import { defaults, readDuration, resolveDev, resolveServe } from "../src/Config.ts"
import { serveDefaults, unknownVariables } from "../src/Config.ts"

type Env = Readonly<Record<string, string>>

const within = (env: Env) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))

const resolved = (flags: DevFlags, env: Env) => within(env)(resolveDev(flags))
const served = (flags: ServeFlags, env: Env) => within(env)(resolveServe(flags))

describe("Config.resolveDev", () => {
  it.effect("takes the defaults where nothing is said", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resolved({}, {}), defaults)
      assert.deepStrictEqual(yield* resolved({}, { MILLRACE_PORT: "" }), defaults)
    }),
  )

  it.effect("takes a flag over a variable, and a variable over a default", () =>
    Effect.gen(function* () {
      const env = { MILLRACE_PORT: "8080", MILLRACE_DATA: "/data", MILLRACE_SEED: "no" }
      assert.deepStrictEqual(yield* resolved({ port: 0 }, env), {
        ...defaults,
        port: 0,
        data: "/data",
        seed: false,
      })
    }),
  )

  it.effect("reads networks with and without a port", () =>
    Effect.gen(function* () {
      const env = { MILLRACE_EGRESS_ALLOW: "127.0.0.1/32:8080, 10.0.0.0/8,[::1]/128:443" }
      const { egressAllow } = yield* resolved({}, env)
      assert.deepStrictEqual(egressAllow, [
        { cidr: "127.0.0.1/32", port: 8080 },
        { cidr: "10.0.0.0/8" },
        { cidr: "::1/128", port: 443 },
      ])
    }),
  )

  it.effect("names every variable that makes no sense", () =>
    Effect.gen(function* () {
      const env = { MILLRACE_PORT: "65536", MILLRACE_MEMORY: "maybe", MILLRACE_EGRESS_ALLOW: "x" }
      const refused = yield* Effect.flip(resolved({}, env))
      assert.strictEqual(refused.reason, "usage")
      assert.deepStrictEqual(
        refused.message.split("; ").map((part) => part.split(":")[0]),
        ["MILLRACE_PORT", "MILLRACE_MEMORY", "MILLRACE_EGRESS_ALLOW"],
      )
    }),
  )

  it.effect("refuses a network that is none", () =>
    Effect.gen(function* () {
      for (const network of ["300.0.0.1/8", "10.0.0.0/33", "::1/128", "10.0.0.0", "10.0.0.0/8:x"]) {
        const { message } = yield* Effect.flip(resolved({}, { MILLRACE_EGRESS_ALLOW: network }))
        assert.match(message, /^MILLRACE_EGRESS_ALLOW: expected networks/, network)
      }
    }),
  )
})

describe("Config.resolveServe", () => {
  const url = "postgres://me:hunter2@db.example/flows"
  const key = { MILLRACE_MASTER_KEY: "ab".repeat(32) }

  it.effect("takes the defaults where only the database and the master key are named", () =>
    Effect.gen(function* () {
      const env = { DATABASE_URL: url, ...key }
      const { databaseUrl, masterKey, ...rest } = yield* served({}, env)
      assert.strictEqual(Redacted.value(databaseUrl), url)
      assert.strictEqual(Redacted.value(masterKey), key.MILLRACE_MASTER_KEY)
      assert.deepStrictEqual(rest, serveDefaults)
    }),
  )

  it.effect("takes a flag over a variable", () =>
    Effect.gen(function* () {
      const durations = { MILLRACE_LEASE: "5s", MILLRACE_GRACE: "0s" }
      const env = { DATABASE_URL: "postgres://other/", ...durations, ...key }
      const flags = { databaseUrl: Redacted.make(url), leaseMillis: 60_000, migrate: false }
      const settings = yield* served(flags, env)
      assert.strictEqual(Redacted.value(settings.databaseUrl), url)
      assert.deepInclude(settings, { leaseMillis: 60_000, graceMillis: 0, migrate: false })
    }),
  )

  it.effect("says what to do without a database, and names the way without one", () =>
    Effect.gen(function* () {
      for (const env of [{}, { DATABASE_URL: "" }]) {
        const refused = yield* Effect.flip(served({}, env))
        assert.strictEqual(refused.reason, "usage")
        assert.match(refused.message, /^No database is named: set DATABASE_URL.*millrace dev/)
        assert.notInclude(refused.message, "\n")
      }
    }),
  )

  it.effect("makes up no master key, and says how to make one", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(served({}, { DATABASE_URL: url }))
      assert.strictEqual(refused.reason, "usage")
      assert.match(refused.message, /^No master key is set: set MILLRACE_MASTER_KEY .*openssl rand/)
    }),
  )

  it.effect("never repeats the address of a database", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        served({}, { DATABASE_URL: "mysql://me:hunter2@db", ...key }),
      )
      assert.match(message, /^DATABASE_URL \(or --database-url\): expected an address/)
      assert.notInclude(message, "hunter2")
    }),
  )

  it.effect("names every duration and number that makes no sense", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        served(
          {},
          {
            DATABASE_URL: url,
            MILLRACE_MASTER_KEY: "hunter2",
            MILLRACE_LEASE: "999ms",
            MILLRACE_GRACE: "soon",
            MILLRACE_REQUEST_TIMEOUT: "0s",
            MILLRACE_DATABASE_CONNECTIONS: "0",
          },
        ),
      )
      assert.deepStrictEqual(
        message.split("; ").map((part) => part.split(":")[0]),
        [
          "MILLRACE_DATABASE_CONNECTIONS",
          "MILLRACE_MASTER_KEY",
          "MILLRACE_LEASE",
          "MILLRACE_GRACE",
          "MILLRACE_REQUEST_TIMEOUT",
        ],
      )
    }),
  )
})

describe("Config.readDuration", () => {
  it("reads an amount and a unit, and nothing else", () => {
    const texts = ["500ms", "1.5s", " 2 m ", "1h", "", "5", "s", "-1s", "1d", "1s 2s", "1e3ms"]
    assert.deepStrictEqual(texts.map(readDuration), [
      500,
      1_500,
      120_000,
      3_600_000,
      ...Array.from({ length: 7 }, () => undefined),
    ])
  })
})

describe("Config.unknownVariables", () => {
  it("names the nearest variable that there is", () => {
    assert.deepStrictEqual(unknownVariables(["PATH", "MILLRACE_PORT", "MILLRACE_DTAA"]), [
      "MILLRACE_DTAA is not read by anything; did you mean MILLRACE_DATA?",
    ])
  })
})
