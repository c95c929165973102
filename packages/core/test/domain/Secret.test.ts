// What may be a secret, and where it may go.
import { describe, expect, it } from "vitest"
import { mayGoTo, problemsOfValue, readHosts } from "../../src/domain/Secret.ts"

describe("Secret.problemsOfValue", () => {
  it("takes what services hand out as keys, tokens and passwords", () => {
    const values = [
      "sk_live_51HxYz",
      "hunter2!",
      "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
      "correct horse battery staple",
      "00112233445566778899",
      "Zürich-2024",
      "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END KEY-----",
      "aB3$".repeat(16_384),
    ]
    expect(values.map(problemsOfValue)).toEqual(values.map(() => []))
  })

  it("refuses what stands in records by chance, and what cannot be stored, in a clause", () => {
    const [short, words] = ["a shorter text stands in records by chance", "words and numbers"]
    const values: ReadonlyArray<readonly [string, string]> = [
      ["", short],
      ["a1b2c3d", short],
      ["1a1a1a1a1a1a1a1a1a1a1a", short],
      ["password", words],
      ["undefined", words],
      ["application/json", words],
      ["2024-01-31 09:30", words],
      ["12345678", words],
      ["größer als", words],
      [" hunter2!", "no blanks or line breaks around it"],
      ["hunter2!\n", "no blanks or line breaks around it"],
      ["hunter2!\0x", "without NUL"],
      ["hunter2!\ud800", "lone surrogates"],
      ["aB3$".repeat(16_384) + "x", "at most 65536 bytes"],
      ["ä1b2c3d4".repeat(8_000), "at most 65536 bytes"],
    ]
    for (const [value, clause] of values) {
      const problems = problemsOfValue(value)
      expect([value, problems.length, problems[0]]).toEqual([
        value,
        1,
        expect.stringContaining(clause),
      ])
      expect(problems.filter((problem) => value !== "" && problem.includes(value))).toEqual([])
    }
  })
})

describe("Secret.readHosts", () => {
  it("stores hosts as addresses spell them, each once", () => {
    const wanted = ["API.Example.com", "api.example.com", "*.Example.com", "x.example:8443"]
    expect(
      readHosts([...wanted, "127.0.0.1:8080", "[::1]", "localhost", "bücher.example"]),
    ).toEqual({
      hosts: [
        "api.example.com",
        "*.example.com",
        "x.example:8443",
        "127.0.0.1:8080",
        "[::1]",
        "localhost",
        "xn--bcher-kva.example",
      ],
      problems: [],
    })
  })

  it("keeps every port that is given, also 80 and 443", () => {
    const wanted = ["a.example:80", "*.b.example:80", "a.example:443", "[::1]:80", "1.2.3.4:080"]
    expect(readHosts(wanted)).toEqual({
      hosts: ["a.example:80", "*.b.example:80", "a.example:443", "[::1]:80", "1.2.3.4:80"],
      problems: [],
    })
  })

  it("refuses what is no host, and none or too many of them", () => {
    const bad = ["", "*", "*.com", "*.1.2.3.4", "https://a.example", "a.example/x", "u@a.example"]
    const form = "a host such as api.example.com, *.example.com or api.example.com:8443"
    for (const host of [
      ...bad,
      "a b",
      "a.example?x",
      "a.example:99999",
      "a.*.example",
      "a.example:",
    ]) {
      const { problems } = readHosts([host])
      expect(problems).toEqual([`expected ${form}, not ${JSON.stringify(host)}`])
    }
    for (const hosts of [[], Array.from({ length: 21 }, (_, n) => `h${n}.example`)]) {
      expect(readHosts(hosts).problems).toEqual(["expected 1 to 20 hosts"])
    }
  })
})

describe("Secret.mayGoTo", () => {
  const may = (host: string, url: string) => mayGoTo([host], new URL(url))

  it("means the very host, on any port where none is said", () => {
    expect(may("api.example.com", "https://api.example.com/x")).toBe(true)
    expect(may("api.example.com", "https://api.example.com:8443/")).toBe(true)
    expect(may("api.example.com:443", "https://API.example.com/")).toBe(true)
    expect(may("api.example.com:443", "http://api.example.com/")).toBe(false)
    expect(may("api.example.com:8443", "https://api.example.com/")).toBe(false)
    expect(may("api.example.com:80", "https://api.example.com/")).toBe(false)
    expect(may("api.example.com:80", "http://api.example.com/")).toBe(true)
    expect(may("[::1]", "http://[::1]:80/")).toBe(true)
    expect(may("[::1]:81", "http://[::1]:80/")).toBe(false)
    for (const host of ["example.com", "xapi.example.com", "api.example.com.evil.example"]) {
      expect(may("api.example.com", `https://${host}/`)).toBe(false)
    }
  })

  it("means every name below a pattern, and not the name itself", () => {
    expect(may("*.example.com", "https://a.example.com/")).toBe(true)
    expect(may("*.example.com", "https://a.b.example.com/")).toBe(true)
    expect(may("*.example.com", "https://example.com/")).toBe(false)
    expect(may("*.example.com", "https://badexample.com/")).toBe(false)
    expect(may("*.example.com:8443", "https://a.example.com/")).toBe(false)
  })
})
