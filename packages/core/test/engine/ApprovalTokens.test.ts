// The tokens with which people decide approvals: what they name, and what is none of them.
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { approvalTokenLength } from "@millrace/core/domain/Limits"
import { Vault, VaultClosed } from "@millrace/core/ports/Vault"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { Digest } from "effect/crypto"
import * as Base64Url from "effect/encoding/Base64Url"
import {
  CurrentApprovalLinks,
  CurrentApprovalPage,
  isSameText,
  layerLinks,
  linkOf,
  make,
} from "../../src/engine/internal/ApprovalTokens.ts"

/** A vault with these keys, the newest first; its signatures are short and legible. */
const vault = (...keys: ReadonlyArray<string>) => ({
  ...Context.get(Effect.runSync(Effect.scoped(Layer.build(Vault.layerClosed))), Vault),
  sign: (purpose: string, text: string) =>
    keys.length === 0
      ? Effect.fail(new VaultClosed({ message: "no key" }))
      : Effect.succeed(keys.map((key) => Base64Url.encode(`${key} ${purpose} ${text.length}`))),
})

const tokens = (...keys: ReadonlyArray<string>) =>
  Effect.provideService(make, Vault, vault(...keys)).pipe(Effect.provide(Digest.layerWebCrypto))

const place = {
  accountId: AccountId.make("acc_1"),
  runId: RunId.make("run_1"),
  nodeId: "ask",
  approver: 2,
  version: 1,
}

const text = Base64Url.encode(JSON.stringify(["acc_1", "run_1", "ask", 2, 1]))
const signature = Base64Url.encode(`new approval ${text.length}`)

describe("ApprovalTokens", () => {
  it.effect("name their place, and are known by their hash", () =>
    Effect.gen(function* () {
      const { make: makeToken, read } = yield* tokens("new")
      const { hash, token } = yield* makeToken(place)
      assert.strictEqual(Redacted.value(token), `mra_${text}.${signature}`)
      assert.match(hash, /^[A-Za-z0-9_-]{43}$/)
      assert.deepStrictEqual(yield* read(token), { ...place, hash })
    }),
  )

  it.effect("are none where a part is missing, changed or too long", () =>
    Effect.gen(function* () {
      const { read } = yield* tokens("new")
      const whole = `mra_${text}.${signature}`
      const wrong = [
        "",
        "mra_",
        "x.",
        whole.slice(4),
        `x${whole}`,
        `mrb_${text}.${signature}`,
        `mra_${text}`,
        `mra_${text}.`,
        whole.slice(0, -1),
        `${whole}x`,
        `${whole}.`,
        `mra_${text}.${"A".repeat(signature.length)}`,
      ]
      for (const each of wrong) {
        assert.isUndefined(yield* read(Redacted.make(each)), each)
      }
    }),
  )

  it.effect("may be as long as the limit, and no longer", () =>
    Effect.gen(function* () {
      const { make: makeToken, read } = yield* tokens("new")
      const lengthOf = Effect.fnUntraced(function* (nodeId: string) {
        const { token } = yield* makeToken({ ...place, nodeId })
        return [Redacted.value(token).length, (yield* read(token)) !== undefined]
      })
      let nodeId = "n".repeat(1_400)
      while (((yield* lengthOf(nodeId))[0] as number) < approvalTokenLength) nodeId += "n"
      assert.deepStrictEqual(yield* lengthOf(nodeId), [approvalTokenLength, true])
      let longer = `${nodeId}n`
      while ((yield* lengthOf(longer))[0] === approvalTokenLength) longer += "n"
      assert.strictEqual((yield* lengthOf(longer))[1], false)
    }),
  )

  it.effect("are made anew with the key that made them, as long as that is there", () =>
    Effect.gen(function* () {
      const { hash } = yield* (yield* tokens("old")).make(place)
      const both = yield* tokens("new", "old")
      assert.strictEqual((yield* both.make(place, hash)).hash, hash)
      assert.notStrictEqual((yield* both.make(place)).hash, hash)
      const newest = yield* (yield* tokens("new")).make(place)
      assert.deepStrictEqual(yield* both.make(place, "gone"), newest)
      const { token } = yield* (yield* tokens("old")).make(place)
      assert.strictEqual((yield* both.read(token))?.hash, hash)
      assert.isUndefined(yield* (yield* tokens("new")).read(token))
    }),
  )

  it.effect("are none where there is no key, and cannot be made there", () =>
    Effect.gen(function* () {
      const { make: makeToken, read } = yield* tokens()
      assert.isUndefined(yield* read(Redacted.make(`mra_${text}.${signature}`)))
      assert.strictEqual((yield* Effect.flip(makeToken(place)))._tag, "VaultClosed")
    }),
  )
})

describe("ApprovalTokens.isSameText", () => {
  it("is true for the same text alone, whatever differs and wherever", () => {
    assert.isTrue(isSameText("", ""))
    assert.isTrue(isSameText("abc", "abc"))
    for (const other of ["", "ab", "abcd", "xbc", "axc", "abx", "ABC"]) {
      assert.isFalse(isSameText("abc", other), other)
      assert.isFalse(isSameText(other, "abc"), other)
    }
    assert.isFalse(isSameText("a", "a\u0000"))
    assert.isFalse(isSameText("a\u0000", "a"))
  })
})

describe("ApprovalTokens.linkOf", () => {
  const run = { accountId: place.accountId, id: place.runId }
  const approver = { approver: 2, tokenHash: null, version: 1 }

  /** The links of a process, and where it says that people decide. */
  const links = (page: string | undefined, ...keys: ReadonlyArray<string>) =>
    CurrentApprovalLinks.pipe(
      Effect.provide(layerLinks),
      Effect.provideService(CurrentApprovalPage, page),
      Effect.provideService(Vault, vault(...keys)),
      Effect.provide(Digest.layerWebCrypto),
    )

  it.effect("is the page of the process with the token behind it", () =>
    Effect.gen(function* () {
      const known = yield* links("https://x.example/approvals/", "new")
      const link = yield* linkOf(known, run, "ask", approver)
      const url = `https://x.example/approvals/#mra_${text}.${signature}`
      assert.strictEqual(Redacted.value(link.url!), url)
      assert.strictEqual(link.tokenHash, (yield* (yield* tokens("new")).make(place)).hash)
    }),
  )

  it.effect("has no address where nobody has told the page", () =>
    Effect.gen(function* () {
      const link = yield* linkOf(yield* links(undefined, "new"), run, "ask", approver)
      assert.isUndefined(link.url)
      assert.lengthOf(link.tokenHash, 43)
    }),
  )

  it.effect("has the token that was sent before, while its key is there", () =>
    Effect.gen(function* () {
      const before = yield* linkOf(yield* links(undefined, "old"), run, "ask", approver)
      const { tokenHash } = before
      const both = yield* links(undefined, "new", "old")
      const again = yield* linkOf(both, run, "ask", { ...approver, tokenHash })
      assert.strictEqual(again.tokenHash, tokenHash)
    }),
  )

  it.effect("fails for good where there is no key", () =>
    Effect.gen(function* () {
      const none = yield* CurrentApprovalLinks
      for (const known of [none, yield* links("https://x.example/")]) {
        const error = yield* Effect.flip(linkOf(known, run, "ask", approver))
        assert.strictEqual(
          error.message,
          "links for people need a master key, and this engine has none",
        )
        assert.isFalse(error.retryable)
      }
    }),
  )
})
