// The form of a secret: what is made is accepted, and whatever differs in one character is not.
import {
  hasLabel,
  isLive,
  isWellFormed,
  prefixOf,
  SecretPrefix,
  secretOf,
} from "@millrace/core/domain/ApiKey"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import { AccountId, KeyId } from "@millrace/core/domain/Id"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const Bytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(
  Schema.isMinLength(32),
  Schema.isMaxLength(32),
)

describe("ApiKey.secretOf", () => {
  it.prop("makes well-formed secrets of one length", [Bytes], ([bytes]) => {
    const secret = secretOf(Uint8Array.from(bytes), "mr_")
    assert.isTrue(isWellFormed(secret))
    assert.match(secret, /^mr_[0-9A-Za-z]{49}$/)
    assert.strictEqual(prefixOf(secret), secret.slice(0, 12))
  })

  it("makes different secrets of different bytes", () => {
    const secrets = new Set(
      Array.from({ length: 256 }, (_, value) => secretOf(new Uint8Array(32).fill(value), "mr_")),
    )
    assert.strictEqual(secrets.size, 256)
  })
})

describe("ApiKey.isWellFormed", () => {
  it("refuses a secret with any one character changed", () => {
    const secret = secretOf(new Uint8Array(32).fill(7), "mr_")
    for (let index = 0; index < secret.length; index++) {
      const other = secret[index] === "x" ? "y" : "x"
      assert.isFalse(isWellFormed(secret.slice(0, index) + other + secret.slice(index + 1)))
    }
  })

  it.each(["mr_", "acme_live_", "a_", "a123456789bcde_"])(
    "takes whatever is behind %s",
    (prefix) => {
      assert.isTrue(Schema.is(SecretPrefix)(prefix))
      const secret = secretOf(new Uint8Array(32).fill(9), prefix)
      assert.isTrue(isWellFormed(secret))
      assert.isFalse(isWellFormed(secret.slice(prefix.length)))
    },
  )

  it.each(["", "_", "mr", "1_", "Mr_", "m-r_", "mr_ ", "a1234567890bcdef_"])(
    "knows no prefix %j",
    (prefix) => {
      assert.isFalse(Schema.is(SecretPrefix)(prefix))
      assert.isFalse(isWellFormed(secretOf(new Uint8Array(32).fill(9), prefix)))
    },
  )

  it.each(["", "mr_", "mr", "sk_live_123", "mr_" + "0".repeat(48), "mr_" + "é".repeat(49)])(
    "refuses %j",
    (text) => assert.isFalse(isWellFormed(text)),
  )
})

describe("ApiKey.isLive", () => {
  const key: ApiKey = {
    id: KeyId.make("key_1"),
    accountId: AccountId.make("acc_1"),
    label: "one",
    prefix: "mr_000000000",
    perMinute: 60,
    perDay: 1_000,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    createdAt: 0,
  }

  it("ends with revocation and at the moment of expiry", () => {
    assert.isTrue(isLive(key, 10))
    assert.isFalse(isLive({ ...key, revokedAt: 5 }, 10))
    assert.isTrue(isLive({ ...key, expiresAt: 11 }, 10))
    assert.isFalse(isLive({ ...key, expiresAt: 10 }, 10))
  })
})

describe("ApiKey.hasLabel", () => {
  const keys = ["one", "Two"].map((label) => ({ label }) as ApiKey)

  it("finds a label whatever its case", () => {
    assert.isTrue(hasLabel(keys, "ONE"))
    assert.isTrue(hasLabel(keys, "two"))
    assert.isFalse(hasLabel(keys, "three"))
    assert.isFalse(hasLabel([], "one"))
    // Of these, only the upper case is the same.
    assert.isFalse(hasLabel([{ label: "ß" } as ApiKey], "ss"))
  })
})
