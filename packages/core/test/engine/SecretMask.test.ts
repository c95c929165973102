// Where secrets are found in texts, and what stands there then.
import { describe, expect, it } from "vitest"
import { SecretMask } from "../../src/engine/internal/SecretMask.ts"

const plain = "sk_live_51HxYz"
const odd = `a "b"/<c>&'d' ü+~%é\\n😀 e=`
const lines = `-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nAgEAw8kz\n-----END KEY-----`
const all = [plain, odd, lines]

const base64 = (text: string, encoding: "base64" | "base64url" = "base64") =>
  Buffer.from(text).toString(encoding)

/** How programs write a text, by name. */
const writings: { readonly [name: string]: (text: string) => string } = {
  "as it is": (text) => text,
  "in JSON": (text) => JSON.stringify(text),
  "in JSON in JSON": (text) => JSON.stringify(JSON.stringify({ text })),
  "in JSON of ASCII with escaped slashes": (text) =>
    JSON.stringify(text)
      .replace(/[\u0080-\uffff]/g, (u) => `\\u${u.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .replaceAll("/", "\\/"),
  "in a path": encodeURIComponent,
  "in a query": (text) => new URLSearchParams({ text }).toString(),
  "in a URL, in small letters": (text) =>
    encodeURIComponent(text).replace(/%../g, (each) => each.toLowerCase()),
  "percent-encoded byte by byte": (text) =>
    Buffer.from(text)
      .toString("hex")
      .replace(/../g, (byte) => `%${byte}`),
  "in HTML": (text) =>
    text
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;"),
  "in hexadecimal": (text) => Buffer.from(text).toString("hex").toUpperCase(),
}

describe("SecretMask.text", () => {
  it.each(Object.entries(writings))("masks a secret %s", (_, write) => {
    const found = new SecretMask(all)
    for (const secret of all) {
      const text = `before ${write(secret)} after ${write(secret)}.`
      expect(found.occursIn(text)).toBe(true)
      const masked = found.text(text)
      expect(masked).toContain("•••")
      expect(masked.startsWith("before ")).toBe(true)
      expect(new SecretMask([secret]).occursIn(masked)).toBe(false)
      for (const part of secret.split(/[^A-Za-z0-9]+/).filter(({ length }) => length > 5)) {
        expect(masked).not.toContain(part)
      }
    }
  })

  it("masks base64 wherever the secret stands in the text, in both alphabets", () => {
    for (const secret of all) {
      const found = new SecretMask([secret])
      for (const before of ["", "u", "us", "use", "user:"]) {
        for (const after of ["", "\n", "!!", "end"]) {
          for (const encoding of ["base64", "base64url"] as const) {
            const text = `Basic ${base64(before + secret + after, encoding)} end`
            expect(found.occursIn(text)).toBe(true)
            expect(found.text(text)).toMatch(/^Basic •••(?: end)?$/)
            expect(found.occursIn(encodeURIComponent(text))).toBe(true)
            expect(found.occursIn(text.replaceAll("/", "\\/"))).toBe(true)
          }
        }
      }
    }
  })

  it("leaves nothing of a secret that overlaps another one", () => {
    const found = new SecretMask(["token-12345678", "12345678-token-12345678"])
    expect(found.text("x 12345678-token-12345678 y token-12345678")).toBe("x ••• y •••")
  })

  it("finds the longer lines of a secret, and other line breaks", () => {
    const found = new SecretMask([lines])
    expect(found.text("line 2: MIIEvQIBADANBgkqhkiG9w0BAQEFAASC")).toBe("line 2: •••")
    expect(found.text(lines.replaceAll("\n", "\r\n"))).toBe("•••")
  })

  it("finds a secret whose signs a form encodes and a browser does not", () => {
    const secret = "it's (a) *secret*!"
    const found = new SecretMask([secret])
    const strict = "it%27s%20%28a%29%20%2Asecret%2A%21"
    const lower = strict.replaceAll("%2A", "%2a")
    for (const text of [
      strict,
      lower,
      strict.replaceAll("%20", "+"),
      lower.replaceAll("%20", "+"),
    ]) {
      expect(found.text(`a ${text} b`)).toBe("a ••• b")
    }
    const form = new URLSearchParams({ a: secret, b: "c" }).toString()
    expect(found.text(form)).toBe("a=•••&b=c")
  })

  it("finds a secret of which each byte is percent-encoded, in capitals and small letters", () => {
    const found = new SecretMask(["key/é-1"])
    const every = "%6B%65%79%2F%C3%A9%2D%31"
    expect(found.text(`a ${every} b ${every.toLowerCase()}`)).toBe("a ••• b •••")
  })

  it("finds base64 at the beginning of a text, and twice", () => {
    const found = new SecretMask([plain])
    const coded = base64(`x${plain}`)
    expect(found.text(coded)).toBe("•••")
    expect(found.text(`${coded} ${coded}`)).toBe("••• •••")
  })

  it("does not know a short secret by its base64, which others may have, too", () => {
    for (const before of ["", "x", "xy"]) {
      expect(new SecretMask(["abcd"]).occursIn(base64(`${before}abcd`))).toBe(false)
    }
    expect(new SecretMask(["abcdef"]).text(base64("abcdef"))).toBe("•••")
  })

  it("finds lines of a secret only where they are long, and without their margins", () => {
    const secret = `first\n    ${"k".repeat(20)}  \nlast`
    const found = new SecretMask([secret])
    expect(found.text(`a ${"k".repeat(20)} b`)).toBe("a ••• b")
    expect(found.text("first and last")).toBe("first and last")
    expect(new SecretMask(["one line of a secret"]).text("one line")).toBe("one line")
  })

  it("leaves other texts as they are", () => {
    const found = new SecretMask(all)
    for (const text of ["", "sk_live_51HxY", "{}", "YWJjZGVmZ2hp", "•••", "a".repeat(100_000)]) {
      expect(found.text(text)).toBe(text)
      expect(found.occursIn(text)).toBe(false)
    }
  })
})

describe("SecretMask.cutText", () => {
  it("masks the beginning of a secret at the end of a text that was cut", () => {
    const found = new SecretMask([plain])
    const text = `refused: ${plain}`
    for (let end = text.length; end > text.length - 10; end--) {
      expect(found.cutText(text.slice(0, end))).toBe("refused: •••")
    }
    expect(found.cutText("refused: nothing")).toBe("refused: nothing")
    expect(found.cutText("sk_")).toBe("sk_")
    expect(found.cutText("sk_l")).toBe("•••")
  })
})

describe("SecretMask.json", () => {
  it("masks texts and names at any depth, and keeps everything else as it is", () => {
    const found = new SecretMask([plain, "1234567890123456789", "00112233445566778899"])
    const same = { a: [1, null, true, { b: "text" }] }
    expect(found.json(same)).toBe(same)
    const value = { [plain]: 1, list: [`Bearer ${plain}`, { deep: [plain] }], same }
    const masked = found.json(value)
    expect(masked).toEqual({ "•••": 1, list: ["Bearer •••", { deep: ["•••"] }], same })
    expect(Object.isFrozen(masked)).toBe(true)
    expect(masked.same).toBe(same)
    expect(masked.same.a).toBe(same.a)
  })

  it("masks a number that is a secret", () => {
    const found = new SecretMask(["4711081547110815"])
    expect(found.json([4711081547110815, 4711])).toEqual(["•••", 4711])
  })
})
