import { it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { assert, describe } from "vitest"
import type { DevFlags } from "../src/Config.ts"
import { defaults, resolveDev, unknownVariables } from "../src/Config.ts"

const resolved = (flags: DevFlags, env: Readonly<Record<string, string>>) =>
  Effect.provideService(
    resolveDev(flags),
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromEnv({ env }),
  )

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

describe("Config.unknownVariables", () => {
  it("names the nearest variable that there is", () => {
    assert.deepStrictEqual(unknownVariables(["PATH", "MILLRACE_PORT", "MILLRACE_DTAA"]), [
      "MILLRACE_DTAA is not read by anything; did you mean MILLRACE_DATA?",
    ])
  })
})
