import { describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { expect } from "vitest"
import { isMasterKey } from "../src/MasterKey.ts"
import { make, newMasterKey } from "../src/MasterVault.ts"

const keyText = (byte: number) => Buffer.alloc(32, byte).toString("base64")
const vaultOf = (text: string) => make(Redacted.make(text))

describe("MasterVault.make", () => {
  it.effect("signs alike with the same key, for one purpose, and with older keys as well", () =>
    Effect.gen(function* () {
      const old = vaultOf(keyText(1))
      const [signature, ...others] = yield* old.sign("p", "text")
      expect([signature, others]).toEqual([expect.stringMatching(/^[\w-]{43}$/), []])
      expect(yield* old.sign("p", "text")).toEqual([signature])
      expect(yield* old.sign("q", "text")).not.toContain(signature)
      expect(yield* old.sign("p", "texts")).not.toContain(signature)
      const both = yield* vaultOf(`${keyText(2)}, ${keyText(1)}`).sign("p", "text")
      expect(both).toEqual([...(yield* vaultOf(keyText(2)).sign("p", "text")), signature])
    }),
  )

  it.effect("opens what it sealed, for the same purpose only", () =>
    Effect.gen(function* () {
      const vault = vaultOf(keyText(1))
      const text = 'grüezi "\u0000" 😀'
      const sealed = yield* vault.seal("headers of a", text)
      expect(yield* vault.open("headers of a", sealed)).toBe(text)
      const error = yield* Effect.flip(vault.open("headers of b", sealed))
      expect(error._tag).toBe("VaultClosed")
    }),
  )

  it.effect("tells nothing of a text, not even that it is the same", () =>
    Effect.gen(function* () {
      const vault = vaultOf(keyText(1))
      const [one, two] = [yield* vault.seal("p", "secret"), yield* vault.seal("p", "secret")]
      expect(one).not.toBe(two)
      for (const each of [one, two]) expect(each).not.toContain("secret")
    }),
  )

  it.effect("opens no seal of which a bit was changed", () =>
    Effect.gen(function* () {
      const vault = vaultOf(keyText(1))
      const sealed = yield* vault.seal("p", "secret")
      const [version, id, text = ""] = sealed.split(".")
      for (let index = 0; index < text.length; index += 7) {
        const other = text[index] === "A" ? "B" : "A"
        const broken = [version, id, text.slice(0, index) + other + text.slice(index + 1)].join(".")
        expect((yield* Effect.flip(vault.open("p", broken)))._tag).toBe("VaultClosed")
      }
    }),
  )

  it.effect("goes on opening what an older key sealed, as long as that key is there", () =>
    Effect.gen(function* () {
      const old = yield* vaultOf(keyText(1)).seal("p", "secret")
      const both = vaultOf(`${keyText(2)}, ${keyText(1)}`)
      expect(yield* both.open("p", old)).toBe("secret")
      const fresh = yield* both.seal("p", "secret")
      expect(yield* vaultOf(keyText(2)).open("p", fresh)).toBe("secret")
      const { message } = yield* Effect.flip(vaultOf(keyText(2)).open("p", old))
      expect(message).toMatch(/^No master key "[\da-f]{8}" is configured$/)
    }),
  )
})

describe("MasterVault.make, of what it cannot use", () => {
  it.effect("says of a seal whether its key is missing or it was broken", () =>
    Effect.gen(function* () {
      const vault = vaultOf(keyText(1))
      const sealed = yield* vault.seal("p", "secret")
      const messageOf = (text: string) =>
        Effect.map(Effect.flip(vault.open("p", text)), ({ message }) => message)
      const broken = "A seal was broken, or made for another purpose"
      expect(yield* messageOf(sealed.slice(0, -4))).toBe(broken)
      expect(yield* messageOf(sealed.split(".").slice(0, 2).join("."))).toBe(broken)
      expect(yield* messageOf(sealed.replace(/^v1/, "v2"))).toMatch(/^No master key "/)
      expect(yield* messageOf("")).toBe('No master key "undefined" is configured')
    }),
  )

  it("is a defect where a text is no key", () => {
    const form = "A master key is 32 bytes as base64 or as 64 hexadecimal digits"
    expect(() => vaultOf("secret")).toThrow(form)
  })
})

describe("MasterKey.isMasterKey", () => {
  it("takes 32 bytes, as base64 or hexadecimal, and nothing else", () => {
    const good = [
      keyText(1),
      keyText(255),
      keyText(1).slice(0, -1),
      "0f".repeat(32),
      "0F".repeat(32),
      `${keyText(1)},${keyText(2)}`,
      ` ${keyText(1)} , ${keyText(2)} `,
    ]
    const bad = [
      "",
      "secret",
      "0f".repeat(31),
      `${"0f".repeat(32)}0`,
      `x${"0f".repeat(32)}`,
      Buffer.alloc(31).toString("base64"),
      "A".repeat(44),
      `${keyText(1)}=`,
      `x${keyText(1)}`,
      `${keyText(1)},`,
      `secret,${keyText(1)}`,
    ]
    expect(good.map(isMasterKey)).toEqual(good.map(() => true))
    expect(bad.map(isMasterKey)).toEqual(bad.map(() => false))
  })

  it.effect("takes the keys that are made here", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* newMasterKey, yield* newMasterKey]
      expect(isMasterKey(Redacted.value(one))).toBe(true)
      expect(Redacted.value(one)).not.toBe(Redacted.value(two))
    }),
  )
})
