import { promises as dns } from "node:dns"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterEach, expect, vi } from "vitest"
import { isWithin, networkOf, parse } from "../src/Address.ts"
import { system } from "../src/Resolve.ts"

describe("Resolve.system", () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.live("tells a name without an address from a resolver that does not work", () =>
    Effect.gen(function* () {
      const isTemporary = (error: unknown) =>
        Effect.suspend(() => {
          vi.spyOn(dns, "lookup").mockRejectedValue(error)
          return Effect.map(Effect.flip(system("example.com")), (failure) => failure.isTemporary)
        })
      const coded = (code: string) => Object.assign(new Error(code), { code })
      expect(yield* isTemporary(coded("ENOTFOUND"))).toBe(false)
      expect(yield* isTemporary(coded("ENODATA"))).toBe(false)
      expect(yield* isTemporary(coded("EAI_AGAIN"))).toBe(true)
      expect(yield* isTemporary(new Error("ENOTFOUND"))).toBe(true)
    }),
  )

  it.live("finds every address of a name as the operating system knows it", () =>
    Effect.gen(function* () {
      const loopback = networkOf("127.0.0.0/8")
      const addresses = (yield* system("localhost")).map(parse)
      expect(addresses.length).toBeGreaterThan(0)
      for (const address of addresses) {
        const isLoopback = address !== undefined && isWithin(address, loopback)
        expect(String(address) === "::1" || isLoopback).toBe(true)
      }
    }),
  )

  it.live("fails for what cannot be a name", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(system("a..b"))
      expect(error._tag).toBe("Unresolvable")
    }),
  )
})
