/**
 * The interface for operators, as far as it is about credits: grants, corrections, metering, the
 * ledger and its audit.
 */
import { assert, describe, layer } from "@effect/vitest"
import { RunId } from "@millrace/core/domain/Id"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Layer, Redacted } from "effect"
import { Harness } from "./Harness.ts"
import { create, finish, hello } from "./Samples.ts"

const token = "an operator token that nobody guesses"

const Mounted = Harness.layer.pipe(Layer.provide(Layer.succeed(AdminToken, Redacted.make(token))))

const admin = Effect.fnUntraced(function* (method: string, path: string, json?: unknown) {
  const { send } = yield* Harness
  return yield* send(method, `/api/admin/v1${path}`, { key: token, json })
})

const operation = { actor: "ada", reason: "welcome" }

/** A tenant, and the address of its credits. */
const tenant = Effect.gen(function* () {
  const owner = yield* (yield* Harness).tenant()
  return { owner, path: `/accounts/${owner.accountId}/credits` }
})

layer(Mounted)("credits for operators", (it) => {
  describe("the operations on credits", () => {
    it.effect("grant credits, once under one name, and meter an account", () =>
      Effect.gen(function* () {
        const { path } = yield* tenant
        const expiresAt = "2100-01-01T00:00:00.000Z"
        const json = { ...operation, id: "g1", amount: 2.5, priority: 3, expiresAt }
        const made = yield* admin("POST", `${path}/grants`, json)
        assert.strictEqual(made.status, 201)
        assert.deepInclude(made.body, { ...json, remaining: 2.5 })
        const again = yield* admin("POST", `${path}/grants`, { ...json, amount: 99, actor: "eve" })
        assert.deepStrictEqual(again.body, made.body)
        const metered = yield* admin("POST", `${path}/metering`, { ...operation, metered: true })
        assert.deepInclude(metered.body, { kind: "meter", posted: 0, actor: "ada" })
        const shown = yield* admin("GET", path)
        assert.deepStrictEqual(shown.body, {
          balance: { metered: true, posted: 2.5, reserved: 0, available: 2.5 },
          grants: [made.body],
        })
      }),
    )

    it.effect("correct a balance either way, each time anew where it has no name", () =>
      Effect.gen(function* () {
        const { path } = yield* tenant
        for (const amount of [-1, 0.000001, -1]) {
          const { body, status } = yield* admin("POST", `${path}/adjustments`, {
            ...operation,
            amount,
          })
          assert.strictEqual(status, 201)
          assert.deepInclude(body, { kind: "adjust", posted: amount, ...operation })
        }
        const { body } = yield* admin("GET", path)
        assert.deepInclude(body.balance, { posted: -1.999999, metered: false })
      }),
    )

    it.effect("show the ledger newest first, in pages", () =>
      Effect.gen(function* () {
        const { owner, path } = yield* tenant
        yield* admin("POST", `${path}/grants`, { ...operation, amount: 1 })
        const id = yield* finish(owner, yield* create(owner, hello))
        const first = yield* admin("GET", `${path}/statement?limit=2`)
        const before = first.body.nextBefore
        const rest = yield* admin("GET", `${path}/statement?before=${before}&limit=5`)
        const all = [...first.body.items, ...rest.body.items]
        assert.deepStrictEqual(
          all.map(({ kind, posted, reserved, runId }) => [kind, posted, reserved, runId]),
          [
            ["void", 0, 0, id],
            ["post", -0.25, -0.25, id],
            ["reserve", 0, 0.25, id],
            ["grant", 1, 0, null],
          ],
        )
        assert.isNull(rest.body.nextBefore)
      }),
    )

    it.effect("show the whole ledger as CSV, in which no text is a formula", () =>
      Effect.gen(function* () {
        const { path } = yield* tenant
        const evil = { actor: '=HYPERLINK("x")', reason: 'said "no", twice' }
        yield* admin("POST", `${path}/adjustments`, { ...evil, id: "a1", amount: -1.5 })
        const { headers, status, text } = yield* admin("GET", `${path}/statement.csv`)
        assert.strictEqual(status, 200)
        assert.match(headers.get("content-type") ?? "", /^text\/csv/)
        const [head, line, end] = text.split("\r\n")
        assert.strictEqual(head, "number,at,kind,posted,reserved,runId,nodeId,part,actor,reason")
        assert.match(line ?? "", /^\d+,1970-01-01T[^,]+,adjust,-1.5,0,,,a1,/)
        assert.isTrue(line?.endsWith(`,"'=HYPERLINK(""x"")","said ""no"", twice"`), line)
        assert.strictEqual(end, "")
      }),
    )

    const bad: ReadonlyArray<readonly [string, object, RegExp]> = [
      ["grants", { ...operation, amount: 0 }, /^amount: /],
      ["grants", { ...operation, amount: -1 }, /^amount: expected a number of credits from 0/],
      ["grants", { ...operation, amount: 0.0000001 }, /^amount: expected a number/],
      ["grants", { ...operation, amount: 1e10 }, /^amount: expected a number/],
      ["grants", { ...operation, amount: "5" }, /^amount: /],
      ["grants", { amount: 1, reason: "x" }, /^actor: /],
      ["grants", { amount: 1, actor: "x", reason: " " }, /^reason: /],
      ["grants", { ...operation, amount: 1, priority: 0.5 }, /^priority: /],
      ["grants", { ...operation, amount: 1, id: "" }, /^id: expected 1 to 200 characters/],
      ["adjustments", { ...operation, amount: 0 }, /^amount: expected an amount other than 0/],
      ["adjustments", { ...operation, amount: -1e10 }, /^amount: expected a number/],
      ["metering", operation, /^metered: /],
    ]
    for (const [name, json, sentence] of bad) {
      it.effect(`refuse ${name} of ${JSON.stringify(json)}`, () =>
        Effect.gen(function* () {
          const { path } = yield* tenant
          const { body, status } = yield* admin("POST", `${path}/${name}`, json)
          assert.strictEqual(status, 400)
          assert.match(body.error, sentence)
          assert.deepStrictEqual((yield* admin("GET", `${path}/statement`)).body.items, [])
        }),
      )
    }

    it.effect("know no account that does not exist", () =>
      Effect.gen(function* () {
        const path = "/accounts/acc_none/credits"
        const answers = yield* Effect.all([
          admin("GET", path),
          admin("GET", `${path}/statement`),
          admin("GET", `${path}/statement.csv`),
          admin("POST", `${path}/grants`, { ...operation, amount: 1 }),
          admin("POST", `${path}/adjustments`, { ...operation, amount: 1 }),
          admin("POST", `${path}/metering`, { ...operation, metered: true }),
        ])
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [404, 404, 404, 404, 404, 404],
        )
      }),
    )
  })

  describe("the audit", () => {
    it.effect("names what does not add up", () =>
      Effect.gen(function* () {
        const { owner, path } = yield* tenant
        yield* admin("POST", `${path}/grants`, { ...operation, amount: 1 })
        const id = yield* finish(owner, yield* create(owner, hello))
        const sound = yield* admin("GET", "/audit")
        assert.deepStrictEqual(sound.body.discrepancies, [])
        assert.isAtLeast(sound.body.accounts, 1)
        const runs = yield* RunStore
        const found = yield* runs.find(owner.accountId, id)
        const { definition, run } = yield* Effect.fromOption(found)
        const unpaid = { ...run, id: RunId.make("run_unpaid"), actualCredits: 7_000_000 }
        yield* runs.commit({
          expected: { _tag: "New", definition: { ...definition, id: "another" } },
          run: unpaid,
          nodeRuns: [],
          rewritten: [],
          deliveries: [],
          events: [],
        })
        const { body } = yield* admin("GET", "/audit")
        const messages = body.discrepancies.map(({ message }: { message: string }) => message)
        assert.deepStrictEqual(messages, [
          "Run run_unpaid is estimated at 0.25, and reserved 0",
          "Run run_unpaid has cost 7, and 0 were posted for it",
          "Run run_unpaid has ended, and was settled 0 times",
        ])
      }),
    )
  })
})
