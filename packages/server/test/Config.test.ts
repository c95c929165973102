import { it } from "@effect/vitest"
import type { Limits } from "@millrace/core/domain/Limits"
import { defaultLimits, limitNames } from "@millrace/core/domain/Limits"
import { ConfigProvider, Effect, Redacted } from "effect"
import { assert, describe } from "vitest"
import type { DevFlags, ServeFlags } from "../src/Config.ts"
import { defaults, resolveDev, resolveServe } from "../src/Config.ts"
import { readDuration } from "../src/internal/config/Readers.ts"
import type { TargetFlags } from "../src/internal/config/ConfigTarget.ts"
import { resolveTarget } from "../src/internal/config/ConfigTarget.ts"
import { serveDefaults, unknownLimits, unknownVariables } from "../src/Config.ts"
import { limitHelp, limitVariable, limitVariables } from "../src/internal/config/LimitVariables.ts"

type Env = Readonly<Record<string, string>>

const within = (env: Env) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))

const resolved = (flags: DevFlags, env: Env) => within(env)(resolveDev(flags))
const served = (flags: ServeFlags, env: Env) => within(env)(resolveServe(flags))

describe("Config.resolveDev of keys and operators", () => {
  it.effect("reads what new keys begin with and what operators show", () =>
    Effect.gen(function* () {
      const token = "0123456789abcdef01234567"
      const env = { MILLRACE_KEY_PREFIX: "acme_live_", MILLRACE_ADMIN_TOKEN: token }
      const { adminToken, keyPrefix } = yield* resolved({}, env)
      assert.strictEqual(keyPrefix, "acme_live_")
      assert.strictEqual(adminToken === null ? "" : Redacted.value(adminToken), token)
      assert.notInclude(JSON.stringify(adminToken), token)
    }),
  )

  it.effect("refuses a token that may be guessed or cannot be sent, without repeating it", () =>
    Effect.gen(function* () {
      for (const token of [
        "0123456789abcdef0123456",
        "0123456789abcdef 01234567",
        "ü".repeat(30),
      ]) {
        const { message } = yield* Effect.flip(resolved({}, { MILLRACE_ADMIN_TOKEN: token }))
        assert.strictEqual(message, "MILLRACE_ADMIN_TOKEN: expected 24 visible characters or more")
      }
    }),
  )

  it.effect("refuses a prefix that a key cannot have", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(resolved({}, { MILLRACE_KEY_PREFIX: "Acme" }))
      assert.match(message, /^MILLRACE_KEY_PREFIX: expected 2 to 16 of a-z/)
    }),
  )
})

describe("Config.resolveServe of large values", () => {
  const needed = {
    DATABASE_URL: "postgres://a/b",
    MILLRACE_MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
  }
  const valuesOf = (env: Env) => served({}, { ...needed, ...env })

  it.effect("reads a folder, or a bucket with its endpoint and region", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* valuesOf({ MILLRACE_VALUES: "./values" })).values, "./values")
      const env = {
        MILLRACE_VALUES: "s3://my-bucket/some/where",
        MILLRACE_VALUES_ENDPOINT: "https://host:9000/",
        MILLRACE_VALUES_REGION: "eu-central-1",
      }
      const { values, valuesEndpoint, valuesRegion } = yield* valuesOf(env)
      assert.strictEqual(values, "s3://my-bucket/some/where")
      assert.strictEqual(valuesEndpoint, "https://host:9000")
      assert.strictEqual(valuesRegion, "eu-central-1")
    }),
  )

  it.effect("refuses what is neither", () =>
    Effect.gen(function* () {
      for (const text of [" ", "s3://", "s3:///prefix", "gs://bucket", "https://host/bucket"]) {
        const { message } = yield* Effect.flip(valuesOf({ MILLRACE_VALUES: text }))
        const form = "a folder such as ./values, or s3://bucket/prefix"
        assert.strictEqual(message, `MILLRACE_VALUES: expected ${form}`)
      }
    }),
  )
})

describe("Config.resolveServe of proxies", () => {
  const proxies = (text: string) =>
    served(
      {},
      {
        DATABASE_URL: "postgres://a/b",
        MILLRACE_MASTER_KEY: "ab".repeat(32),
        MILLRACE_TRUSTED_PROXIES: text,
      },
    )

  it.effect("believes nobody by default, and reads addresses and networks", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* proxies("")).trustedProxies, [])
      const { trustedProxies } = yield* proxies("10.0.0.0/8, 127.0.0.1,::1, fd00::/8")
      assert.deepStrictEqual(trustedProxies, ["10.0.0.0/8", "127.0.0.1/32", "::1/128", "fd00::/8"])
    }),
  )

  it.effect("refuses what is neither", () =>
    Effect.gen(function* () {
      for (const text of ["proxy", "10.0.0.0/33", "10.0.0.0/8,", "*"]) {
        const { message } = yield* Effect.flip(proxies(text))
        assert.match(message, /^MILLRACE_TRUSTED_PROXIES: expected addresses or networks/)
      }
    }),
  )
})

describe("Config.resolveServe of frames", () => {
  const frames = (text: string) =>
    served(
      {},
      {
        DATABASE_URL: "postgres://a/b",
        MILLRACE_MASTER_KEY: "ab".repeat(32),
        MILLRACE_FRAME_ANCESTORS: text,
      },
    )

  it.effect("takes origins, and nothing that would say more in a policy", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* frames("")).frameAncestors, [])
      const { frameAncestors } = yield* frames("https://app.example.com, https://*.example.org")
      assert.deepStrictEqual(frameAncestors, ["https://app.example.com", "https://*.example.org"])
      for (const text of ["*", "https://a;script-src *", "app.example.com", "https://a.b,"]) {
        const { message } = yield* Effect.flip(frames(text))
        assert.match(message, /^MILLRACE_FRAME_ANCESTORS: expected origins/)
      }
    }),
  )
})

describe("Config.resolveServe of browsers", () => {
  const reached = (env: Record<string, string>) =>
    served({}, { DATABASE_URL: "postgres://a/b", MILLRACE_MASTER_KEY: "ab".repeat(32), ...env })

  it.effect("takes the address that they know, and the origins of pages that may call", () =>
    Effect.gen(function* () {
      const none = yield* reached({})
      assert.deepStrictEqual([none.publicUrl, none.allowedOrigins], [null, []])
      const { allowedOrigins, publicUrl } = yield* reached({
        MILLRACE_PUBLIC_URL: "https://flows.example.com/automation/",
        MILLRACE_ALLOWED_ORIGINS: "https://a.example, http://localhost:5173",
      })
      assert.strictEqual(publicUrl, "https://flows.example.com/automation")
      assert.deepStrictEqual(allowedOrigins, ["https://a.example", "http://localhost:5173"])
    }),
  )

  it.effect("refuses addresses without TLS, and origins that are none", () =>
    Effect.gen(function* () {
      const plain = reached({ MILLRACE_PUBLIC_URL: "http://flows.example.com" })
      assert.match((yield* Effect.flip(plain)).message, /^MILLRACE_PUBLIC_URL: expected an address/)
      const any = reached({ MILLRACE_ALLOWED_ORIGINS: "https://*.a.example" })
      assert.match((yield* Effect.flip(any)).message, /^MILLRACE_ALLOWED_ORIGINS: expected origins/)
    }),
  )
})

describe("ConfigTarget.resolveTarget", () => {
  const target = (flags: TargetFlags, env: Env) => within(env)(resolveTarget(flags))
  const token = Redacted.make("a token")
  const all = { DATABASE_URL: "postgres://a/b", MILLRACE_DATA: "/data" }

  it.effect("takes what was typed over what a variable says", () =>
    Effect.gen(function* () {
      const url = { ...all, MILLRACE_URL: "http://h:1/", MILLRACE_ADMIN_TOKEN: "x".repeat(24) }
      assert.deepInclude(yield* target({}, url), { _tag: "Server", url: "http://h:1" })
      assert.deepInclude(yield* target({}, all), { _tag: "Database" })
      assert.deepInclude(yield* target({}, { MILLRACE_DATA: "/data" }), {
        _tag: "Folder",
        data: "/data",
      })
      assert.deepInclude(yield* target({ data: "x" }, url), { _tag: "Folder", data: "x" })
      const databaseUrl = Redacted.make("postgres://c/d")
      const database = yield* target({ databaseUrl }, url)
      assert.deepInclude(database._tag === "Database" ? database.settings : {}, { databaseUrl })
      const server = yield* target({ url: "https://i", adminToken: token }, all)
      assert.deepStrictEqual(server, { _tag: "Server", url: "https://i", token })
    }),
  )

  it.effect("refuses to guess", () =>
    Effect.gen(function* () {
      const messages = yield* Effect.all([
        Effect.flip(target({}, {})),
        Effect.flip(target({ url: "http://h", data: "x" }, {})),
        Effect.flip(target({ url: "http://h" }, {})),
        Effect.flip(target({}, { MILLRACE_URL: "h:1", MILLRACE_ADMIN_TOKEN: "x".repeat(24) })),
      ])
      assert.deepStrictEqual(
        messages.map(({ message, reason }) => [reason, message.slice(0, 40)]),
        [
          ["usage", "No place with accounts is named. For a d"],
          ["usage", "Name one place only: --url or --data"],
          ["usage", "MILLRACE_ADMIN_TOKEN (or --admin-token):"],
          ["usage", "MILLRACE_URL: expected an address such a"],
        ],
      )
    }),
  )
})

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
      const { egressAllow, postgresPorts, smtpPorts } = yield* resolved(
        {},
        {
          ...env,
          MILLRACE_SMTP_PORTS: "587, 2465",
          MILLRACE_POSTGRES_PORTS: "none",
        },
      )
      assert.deepStrictEqual([smtpPorts, postgresPorts], [[587, 2465], []])
      const wrong = yield* Effect.flip(resolved({}, { MILLRACE_SMTP_PORTS: "0" }))
      assert.match(wrong.message, /^MILLRACE_SMTP_PORTS: expected ports such as/)
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
      assert.strictEqual(rest.leaseMillis, 5_000)
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

  it.effect("takes the variables of OpenTelemetry, and never repeats its headers", () =>
    Effect.gen(function* () {
      const at = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318/" }
      const headers = { OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%3Db, x-team=shop" }
      const named = { OTEL_SERVICE_NAME: "flows" }
      const all = { DATABASE_URL: url, ...key, ...at, ...headers, ...named }
      const { otlpEndpoint, otlpHeaders, serviceName } = yield* served({}, all)
      assert.deepStrictEqual([otlpEndpoint, serviceName], ["http://localhost:4318", "flows"])
      const given = Redacted.value(otlpHeaders!)
      assert.deepStrictEqual(given, { "x-key": "a=b", "x-team": "shop" })
      for (const text of ["hunter2", "x-key=%E0%A4%A", "x key=hunter2"]) {
        const wrong = { ...all, OTEL_EXPORTER_OTLP_HEADERS: text }
        const { message } = yield* Effect.flip(served({}, wrong))
        assert.match(message, /^OTEL_EXPORTER_OTLP_HEADERS: expected headers such as /)
        assert.notInclude(message, "hunter2")
      }
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

describe("Readers.readDuration", () => {
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

describe("Config.resolveServe of limits", () => {
  const limited = (env: Env) =>
    served({}, { DATABASE_URL: "postgres://a/b", MILLRACE_MASTER_KEY: "ab".repeat(32), ...env })

  it.effect("reads each of the engine's limits from a variable of its own", () =>
    Effect.gen(function* () {
      const names = Object.keys(defaultLimits) as ReadonlyArray<keyof Limits>
      assert.deepStrictEqual((yield* limited({})).limits, defaultLimits)
      const env = names.map((name, index) => [limitVariables[name].name, `${index + 1_000}`])
      const { limits } = yield* limited(Object.fromEntries(env))
      assert.deepStrictEqual(
        limits,
        Object.fromEntries(names.map((name, index) => [name, index + 1_000])),
      )
      assert.strictEqual(limitVariables.runsAtOnce.name, "MILLRACE_LIMIT_RUNS_AT_ONCE")
    }),
  )

  it.effect("knows a limit that is added by its name alone", () =>
    Effect.sync(() => {
      const added = limitVariable("sparksPerHour", { usual: 7, meaning: "Sparks in an hour." })
      assert.strictEqual(added.name, "MILLRACE_LIMIT_SPARKS_PER_HOUR")
      assert.strictEqual(added.read("12"), 12)
      const least = limitVariable("sparkBytes", {
        usual: 7,
        least: 5,
        meaning: "Bytes of a spark.",
      })
      assert.deepStrictEqual([least.read("5"), least.read("4")], [5, undefined])
      assert.strictEqual(least.expected, "a whole number from 5")
      const help = limitNames.map((name) => `${limitVariables[name].name} (default `)
      for (const line of help) assert.include(limitHelp, line)
    }),
  )

  it.effect("bounds nothing with none, where that is possible", () =>
    Effect.gen(function* () {
      const { limits } = yield* limited({ MILLRACE_LIMIT_RUNS_PER_ACCOUNT: "none" })
      assert.strictEqual(limits.runsPerAccount, Number.POSITIVE_INFINITY)
    }),
  )

  it.effect("names every limit that makes no sense", () =>
    Effect.gen(function* () {
      const number = "expected a whole number from 1"
      const wrong = ["0", "-1", "1.5", "1e3", "many", "none", "2147483648", " 1"]
      for (const text of wrong) {
        const { message } = yield* Effect.flip(limited({ MILLRACE_LIMIT_BODY_BYTES: text }))
        assert.strictEqual(message, `MILLRACE_LIMIT_BODY_BYTES: ${number}`)
      }
      const all = {
        MILLRACE_LEASE: "soon",
        MILLRACE_LIMIT_NODES_AT_ONCE: "x",
        MILLRACE_LIMIT_RUNS_PER_ACCOUNT: "x",
      }
      const { message } = yield* Effect.flip(limited(all))
      const [lease, nodes, runs] = message.split("; ")
      assert.match(lease ?? "", /^MILLRACE_LEASE: /)
      assert.strictEqual(nodes, `MILLRACE_LIMIT_NODES_AT_ONCE: ${number}`)
      assert.strictEqual(runs, `MILLRACE_LIMIT_RUNS_PER_ACCOUNT: ${number}, or none`)
    }),
  )

  it("knows no other limit, and names the nearest", () => {
    const names = ["MILLRACE_LIMIT_RUN_AT_ONCE", "MILLRACE_LIMIT_RUNS_AT_ONCE", "MILLRACE_DTAA"]
    assert.deepStrictEqual(unknownLimits(names), [
      "MILLRACE_LIMIT_RUN_AT_ONCE is not read by anything; " +
        "did you mean MILLRACE_LIMIT_RUNS_AT_ONCE?",
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
