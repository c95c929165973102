import { assert, describe, it } from "vitest"
import { originOf, resolveOwn } from "../src/internal/serve/OwnAddress.ts"

const address = { host: "127.0.0.1", port: 7411, family: "IPv4" } as const

describe("OwnAddress.resolveOwn", () => {
  it("puts the server in the place of the name that stands for it", () => {
    const url = resolveOwn("http://millrace.internal/demo/orders.json?day=1", address)
    assert.strictEqual(url, "http://127.0.0.1:7411/demo/orders.json?day=1")
  })

  it("leaves every other URL as it is", () => {
    for (const url of [
      "http://millrace.internal.example.com/",
      "http://millrace.internal:81/",
      "https://millrace.internal/",
      "http://example.com/?at=http://millrace.internal/",
      "not a URL",
    ]) {
      assert.strictEqual(resolveOwn(url, address), url)
    }
  })

  it("keeps a user name, so that the guard sees and refuses it", () => {
    const url = resolveOwn("http://user:word@millrace.internal/", address)
    assert.strictEqual(url, "http://user:word@127.0.0.1:7411/")
  })
})

describe("OwnAddress.originOf", () => {
  it("writes an IPv6 address in brackets", () => {
    assert.strictEqual(originOf({ ...address, host: "::1", family: "IPv6" }), "http://[::1]:7411")
  })
})
