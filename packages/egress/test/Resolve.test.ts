import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { isWithin, networkOf, parse } from "../src/Address.ts"
import { system } from "../src/Resolve.ts"

describe("Resolve.system", () => {
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
