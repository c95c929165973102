import { assert, describe, it } from "vitest"
import * as Exposure from "../src/internal/serve/Exposure.ts"

const at = (bound: string) => ({
  bound,
  address: { host: bound, port: 7411, family: "IPv4" as const },
})

describe("Exposure.warningOf", () => {
  it("warns of every address that other machines may reach, and of no other", () => {
    for (const bound of ["127.0.0.1", "127.0.0.2"])
      assert.isUndefined(Exposure.warningOf(at(bound)))
    assert.isUndefined(Exposure.warningOf(at("::1")))
    assert.match(
      Exposure.warningOf(at("10.0.0.5"))!,
      /^The server listens on 10\.0\.0\.5, port 7411, /,
    )
    for (const bound of ["0.0.0.0", "::"]) {
      assert.match(
        Exposure.warningOf(at(bound))!,
        /^The server listens on every address of this machine, /,
      )
    }
  })
})
