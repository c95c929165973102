import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { Policy } from "../src/Policy.ts"
import { httpsOnly, narrowed, openWeb, problemOfUrl, rulesOf, targetOf } from "../src/Policy.ts"

const demo: Policy = {
  ...openWeb,
  allow: [{ cidr: "127.0.0.1/32", port: 7411, protocols: ["http:"] }],
}

describe("Policy.problemOfUrl", () => {
  it("lets public https URLs through both policies", () => {
    for (const policy of [httpsOnly, openWeb]) {
      expect(problemOfUrl("https://example.com/a?b=c#d", policy)).toBeUndefined()
      expect(problemOfUrl("https://example.com:8443/", policy)).toBeUndefined()
      expect(problemOfUrl("https://1.1.1.1/", policy)).toBeUndefined()
    }
  })

  it("lets plain http through the open policy only", () => {
    expect(problemOfUrl("http://example.com/", openWeb)).toBeUndefined()
    expect(problemOfUrl("http://example.com/", httpsOnly)).toBe("Only https URLs may be called")
  })

  it("names the protocols that may be used", () => {
    for (const url of ["ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)"]) {
      expect(problemOfUrl(url, openWeb)).toBe("Only http and https URLs may be called")
    }
  })

  it("names the port that may not be called", () => {
    expect(problemOfUrl("https://example.com:22/", openWeb)).toBe("Port 22 may not be called")
    expect(problemOfUrl("https://example.com:80/", httpsOnly)).toBe("Port 80 may not be called")
  })

  it("refuses a user name or a password in the URL", () => {
    const sentence = "A URL with a user name or a password may not be called"
    expect(problemOfUrl("https://user@example.com/", openWeb)).toBe(sentence)
    expect(problemOfUrl("https://:secret@example.com/", openWeb)).toBe(sentence)
  })

  it("refuses what is not a URL, or is endless", () => {
    expect(problemOfUrl("example.com", openWeb)).toBe("The URL cannot be read")
    expect(problemOfUrl("", openWeb)).toBe("The URL cannot be read")
    expect(problemOfUrl(`https://a.example/${"x".repeat(9_000)}`, openWeb)).toBe(
      "The URL is longer than 8192 characters",
    )
  })

  it("lets a URL of the greatest length through", () => {
    const start = "https://a.example/"
    const longest = start + "x".repeat(8_192 - start.length)
    expect(problemOfUrl(longest, openWeb)).toBeUndefined()
    expect(problemOfUrl(`${longest}x`, openWeb)).toBe("The URL is longer than 8192 characters")
  })

  it("names no address in a refusal", () => {
    expect(problemOfUrl("http://169.254.169.254/latest", openWeb)).toBe(
      "The URL does not lead to a public address",
    )
  })

  it("lets an exception through, and nothing beside it", () => {
    expect(problemOfUrl("http://127.0.0.1:7411/orders", demo)).toBeUndefined()
    expect(problemOfUrl("http://localhost:7411/orders", demo)).toBeUndefined()
    expect(problemOfUrl("https://127.0.0.1:7411/", demo)).toBe("Port 7411 may not be called")
    expect(problemOfUrl("http://127.0.0.1:7412/", demo)).toBe("Port 7412 may not be called")
    for (const host of ["127.0.0.2", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "1.1.1.1"]) {
      expect(problemOfUrl(`http://${host}:7411/`, demo)).toBe(
        "The URL does not lead to a public address",
      )
    }
  })
})

describe("Policy.narrowed", () => {
  const isAllowed = (url: string, protocols: ReadonlyArray<"http:" | "https:">) =>
    Result.isSuccess(targetOf(url, narrowed(rulesOf(demo), protocols)))

  it("leaves those of the protocols that the policy has, also to its exceptions", () => {
    for (const url of ["http://example.com/", "http://127.0.0.1:7411/"]) {
      expect(isAllowed(url, ["http:"])).toBe(true)
      expect(isAllowed(url, ["https:"])).toBe(false)
    }
    expect(isAllowed("https://example.com/", ["https:"])).toBe(true)
    expect(isAllowed("https://example.com/", ["http:"])).toBe(false)
  })

  it("adds no protocol", () => {
    const rules = narrowed(rulesOf(httpsOnly), ["http:", "https:"])
    expect(Result.isFailure(targetOf("http://example.com/", rules))).toBe(true)
  })
})
