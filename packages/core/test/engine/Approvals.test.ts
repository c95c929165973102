// Approvals of runs: who may decide what, which decision counts, and what all others are told.
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { delegationsPerApprover, messagesPerRun } from "@millrace/core/domain/Limits"
import { format } from "@millrace/core/domain/Timestamp"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { Store } from "./TestApprovals.ts"
import { ann, bob, scene, soon } from "./TestApprovals.ts"
import { account, runOf, shared } from "./TestEngine.ts"

/** The refusal of a call, as a text. */
const refused = <A, E extends { readonly _tag: string; readonly message: string }>(
  call: Effect.Effect<A, E>,
) => Effect.map(Effect.flip(call), ({ _tag, message }) => `${_tag}: ${message}`)

const nobody = "ApprovalOver: Nobody is asked: the node does not wait for a decision"
const tooLate = "ApprovalOver: The approval has expired: nobody decided in time"
const passedOn = "ApprovalOver: This link is over: the approval was passed on to another address"
const byAda = (at: number) => `ApprovalOver: It was approved already: by ada, at ${format(at)}`

describe("Approvals.find", () => {
  it.effect("tells what is asked, and what became of it", () =>
    Effect.gen(function* () {
      const form = [{ name: "amount", type: "number" }]
      const { decide, find, id } = yield* scene({ description: "An order.", fields: form })
      const { decision, state, ...asked } = yield* find
      assert.deepStrictEqual(asked, {
        run: yield* runOf(id),
        nodeId: "ask",
        status: "pending",
        title: "Sure?",
        description: "An order.",
        form: form as typeof asked.form,
      })
      assert.isUndefined(decision)
      assert.deepStrictEqual(
        state?.approvers.map(({ address }) => address),
        [ann, bob],
      )
      const made = yield* decide({ outcome: "rejected" })
      yield* soon
      const after = yield* find
      assert.deepStrictEqual([after.status, after.decision], ["rejected", made])
      assert.isUndefined(after.state)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("shows no text and no form where a drawing gives none that can be shown", () =>
    Effect.gen(function* () {
      const { find } = yield* scene({ title: 7, fields: [{ name: "x", type: "secret" }] })
      const { description, form, title } = yield* find
      assert.deepStrictEqual([title, description, form], ["", "", []])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("refuses runs and nodes that are none of the account", () =>
    Effect.gen(function* () {
      const { approvals, id } = yield* scene()
      const find = (...given: Parameters<typeof approvals.find>) =>
        Effect.map(Effect.flip(approvals.find(...given)), ({ _tag }) => _tag)
      assert.strictEqual(yield* find(AccountId.make("acc_no"), id, "ask"), "RunNotFound")
      assert.strictEqual(yield* find(account, RunId.make("run_no"), "ask"), "RunNotFound")
      assert.strictEqual(yield* find(account, id, "none"), "ApprovalNotFound")
      assert.strictEqual(yield* find(account, id, "other"), "ApprovalNotFound")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("tells that an approval has expired, was not reached, or ended with its run", () =>
    Effect.gen(function* () {
      const expiring = yield* scene({ timeout: 5_000 })
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* expiring.find).status, "expired")
      assert.strictEqual(yield* refused(expiring.decide()), tooLate)
      const later = yield* scene({}, true)
      assert.strictEqual((yield* later.find).status, "over")
      assert.strictEqual(yield* refused(later.decide()), nobody)
      yield* later.cancel(account, later.id)
      assert.strictEqual((yield* later.find).status, "over")
      const canceled = yield* scene()
      yield* canceled.cancel(account, canceled.id)
      const { state, status } = yield* canceled.find
      assert.deepStrictEqual([status, state], ["over", undefined])
      assert.strictEqual(yield* refused(canceled.decide()), nobody)
    }).pipe(Effect.provide(shared())),
  )
})

describe("Approvals.decide", () => {
  it.effect("stores who has decided what, without what was left empty, and wakes the run", () =>
    Effect.gen(function* () {
      const fields = [
        { name: "amount", type: "number" },
        { name: "reason", type: "text" },
      ]
      const { decide, state, store, id } = yield* scene({ fields })
      const looks = state.looks
      const at = yield* Clock.currentTimeMillis
      const decision = yield* decide({ comment: "", fields: { amount: 3, reason: "" } })
      assert.deepStrictEqual(decision, {
        outcome: "approved",
        by: "ada",
        via: "caller",
        at,
        comment: null,
        fields: { amount: 3 },
      })
      assert.strictEqual(state.looks, looks + 1)
      yield* soon
      const { nodeRuns } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual(nodeRuns[0]?.output, { approved: { ...decision, at: format(at) } })
    }).pipe(Effect.provide(shared())),
  )

  it.effect("keeps a comment, and needs neither comment nor fields", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* scene(), yield* scene()]
      assert.strictEqual((yield* one.decide({ comment: "fine" })).comment, "fine")
      const { comment, fields } = yield* two.decide()
      assert.deepStrictEqual([comment, fields], [null, {}])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("refuses what does not fit the form, and stores nothing of it", () =>
    Effect.gen(function* () {
      const { decide, find } = yield* scene()
      const problem = 'InvalidDecision: fields: the form has no field "x"'
      assert.strictEqual(yield* refused(decide({ fields: { x: 1 } })), problem)
      assert.strictEqual((yield* find).run.messages, 0)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is for sessions with a role that is asked, or more, and for callers without one", () =>
    Effect.gen(function* () {
      const { decide } = yield* scene({ roles: ["owner", "editor"] })
      const role = "NotApprover: The approval asks the role owner or editor, and your session has"
      assert.strictEqual(yield* refused(decide({ role: "viewer" })), `${role} the role viewer`)
      assert.strictEqual((yield* decide({ role: "editor" })).outcome, "approved")
      const mailed = yield* scene({ roles: [] })
      assert.strictEqual(
        yield* refused(mailed.decide({ role: "operator" })),
        "NotApprover: The approval asks by mail alone: only who has a link of it decides",
      )
      assert.strictEqual((yield* mailed.decide()).outcome, "approved")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("counts once: whoever comes later is told of the first decision", () =>
    Effect.gen(function* () {
      const { decide, state, store } = yield* scene()
      const at = yield* Clock.currentTimeMillis
      // The second one is read before the first one is stored.
      state.store = {
        send: (...given) => {
          state.store = {}
          return Effect.andThen(Effect.orDie(decide()), store.send(...given))
        },
      }
      const looks = state.looks
      const late = decide({ outcome: "rejected", by: "bea" })
      assert.strictEqual(yield* refused(late), byAda(at))
      assert.strictEqual(state.looks, looks + 1)
      yield* TestClock.adjust("1 second")
      const error = yield* Effect.flip(decide({ by: "cleo" }))
      assert.deepInclude(error, { message: byAda(at).slice(14), outcome: "approved" })
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is told once more by the run where the message is gone", () =>
    Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const gone: Partial<Store> = {
        inboxes: () => Effect.as(soon, []),
      }
      const first = yield* scene()
      first.state.store = gone
      assert.strictEqual((yield* first.decide()).by, "ada")
      const second = yield* scene()
      second.state.store = {
        ...gone,
        send: (...given) => {
          second.state.store = gone
          return Effect.andThen(Effect.orDie(second.decide()), second.store.send(...given))
        },
      }
      const told = yield* refused(second.decide({ by: "bea" }))
      assert.strictEqual(told, byAda(at + 5))
      const third = yield* scene()
      third.state.store = {
        inboxes: () => Effect.as(Effect.orDie(third.cancel(account, third.id)), []),
      }
      yield* third.stop
      assert.strictEqual(yield* refused(third.decide()), nobody)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("counts until the expiry, and no millisecond longer", () =>
    Effect.gen(function* () {
      const late = yield* scene({ timeout: 5_000 })
      const [early, slow] = [yield* scene({ timeout: 5_000 }), yield* scene({ timeout: 5_000 })]
      for (const { stop } of [late, early, slow]) yield* stop
      const expiry = (yield* slow.find).state!.expiresAt!
      const waited = expiry - (yield* Clock.currentTimeMillis)
      yield* TestClock.adjust(waited - 2)
      yield* late.find
      slow.state.store = {
        send: (...given) => Effect.andThen(TestClock.adjust(3), slow.store.send(...given)),
      }
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* early.find).state!.expiresAt, yield* Clock.currentTimeMillis)
      assert.strictEqual((yield* early.decide()).outcome, "approved")
      assert.strictEqual(yield* refused(late.decide()), tooLate)
      assert.strictEqual(yield* refused(slow.decide()), tooLate)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is refused by a run that has ended meanwhile, is gone, or has too many messages", () =>
    Effect.gen(function* () {
      const { cancel, decide, id, state, store } = yield* scene()
      for (let n = 0; n < messagesPerRun; n++) {
        yield* store.send(account, id, { id: `${n}`, name: "go", payload: n })
      }
      assert.match(yield* refused(decide()), /^InboxFull/)
      state.store = { send: () => Effect.succeed({ _tag: "NotFound" }) }
      assert.match(yield* refused(decide()), /^RunNotFound/)
      state.store = {
        send: (...given) => Effect.andThen(Effect.orDie(cancel(account, id)), store.send(...given)),
      }
      assert.match(yield* refused(decide()), /^RunEnded/)
    }).pipe(Effect.provide(shared())),
  )
})

describe("Approvals.tokenFor", () => {
  it.effect("gives each addressee the token that was asked with, and nobody else one", () =>
    Effect.gen(function* () {
      const { approvals, id, find, state, tokenOf } = yield* scene()
      const made = yield* approvals.tokenFor(account, id, "ask", bob)
      assert.strictEqual(made.hash, (yield* find).state?.approvers[1]?.tokenHash)
      const problem = "InvalidDecision: address: the approval does not ask it"
      assert.strictEqual(yield* refused(tokenOf("eve@example.com")), problem)
      state.key = "another"
      assert.strictEqual(
        yield* refused(tokenOf(ann)),
        "ApprovalOver: Its links were made with a master key that this process does not have",
      )
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is refused once nobody is asked", () =>
    Effect.gen(function* () {
      const { decide, tokenOf } = yield* scene()
      const at = yield* Clock.currentTimeMillis
      yield* decide()
      yield* soon
      assert.strictEqual(yield* refused(tokenOf(ann)), byAda(at))
    }).pipe(Effect.provide(shared())),
  )
})

describe("Approvals with a token", () => {
  it.effect("tell what is asked of whom, and decide in the name of the addressee", () =>
    Effect.gen(function* () {
      const { approvals, tokenOf } = yield* scene()
      const token = yield* tokenOf(bob)
      const open = Option.getOrThrow(yield* approvals.readOpen(token))
      assert.deepStrictEqual(
        [open.title, open.approver, open.address, open.state.title],
        ["Sure?", 1, bob, ""],
      )
      const answer = { outcome: "rejected", comment: "no" } as const
      const decision = Option.getOrThrow(yield* approvals.decideBy(token, answer))
      assert.deepInclude(decision, { outcome: "rejected", by: bob, via: "link", comment: "no" })
      yield* soon
      const over = `ApprovalOver: It was rejected already: by ${bob}, at ${format(decision.at)}`
      assert.strictEqual(yield* refused(approvals.readOpen(token)), over)
      assert.strictEqual(yield* refused(approvals.delegate(token, "x@example.com")), over)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("are none for a token that is none, or of a place that is none", () =>
    Effect.gen(function* () {
      const { approvals, tokenAt } = yield* scene()
      const tokens = [
        Redacted.make("mra_x.y"),
        yield* tokenAt({ runId: RunId.make("run_no") }),
        yield* tokenAt({ accountId: AccountId.make("acc_no") }),
        yield* tokenAt({ nodeId: "other" }),
      ]
      for (const token of tokens) {
        assert.isTrue(Option.isNone(yield* approvals.readOpen(token)))
        const decided = yield* approvals.decideBy(token, { outcome: "approved" })
        assert.isTrue(Option.isNone(decided))
        assert.isTrue(Option.isNone(yield* approvals.delegate(token, "x@example.com")))
      }
      for (const place of [{ approver: 7 }, { version: 1 }]) {
        const token = yield* tokenAt(place)
        assert.strictEqual(yield* refused(approvals.readOpen(token)), passedOn)
      }
    }).pipe(Effect.provide(shared())),
  )
})

describe("Approvals.delegate", () => {
  it.effect("passes the place on: the new address has a link, and the one before is over", () =>
    Effect.gen(function* () {
      const { approvals, find, tokenOf } = yield* scene()
      const [old, eve] = [yield* tokenOf(bob), "eve@example.com"]
      assert.isTrue(Option.isSome(yield* approvals.delegate(old, eve)))
      yield* soon
      const addresses = (yield* find).state?.approvers.map(({ address }) => address)
      assert.deepStrictEqual(addresses, [ann, eve])
      const answer = { outcome: "approved" } as const
      assert.strictEqual(yield* refused(approvals.decideBy(old, answer)), passedOn)
      const decided = yield* approvals.decideBy(yield* tokenOf(eve), answer)
      assert.strictEqual(Option.getOrThrow(decided).by, eve)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("passes a place on once, though two ask at once", () =>
    Effect.gen(function* () {
      const { approvals, find, state, store, tokenOf } = yield* scene()
      const [token, eve] = [yield* tokenOf(ann), "eve@example.com"]
      state.store = {
        send: (...given) => {
          state.store = {}
          const first = Effect.orDie(approvals.delegate(token, eve))
          return Effect.andThen(first, store.send(...given))
        },
      }
      const late = approvals.delegate(token, "mallory@example.com")
      assert.strictEqual(yield* refused(late), passedOn)
      // Another addressee may do so meanwhile.
      yield* approvals.delegate(yield* tokenOf(bob), "joe@example.com")
      yield* soon
      const addresses = (yield* find).state?.approvers.map(({ address }) => address)
      assert.deepStrictEqual(addresses, [eve, "joe@example.com"])
    }).pipe(Effect.provide(shared())),
  )

  it.effect(
    "refuses what is no address, who is asked already, and once it was done too often",
    () =>
      Effect.gen(function* () {
        const { approvals, tokenOf } = yield* scene()
        let current = ann
        const to = (address: string) =>
          Effect.flatMap(tokenOf(current), (token) => approvals.delegate(token, address))
        const problem = (text: string) => `InvalidDecision: ${text}`
        assert.strictEqual(yield* refused(to("x")), problem("to: expected an address of e-mail"))
        const asked = problem("to: this address is asked already")
        for (const each of [ann, bob]) assert.strictEqual(yield* refused(to(each)), asked)
        for (let n = 0; n < delegationsPerApprover; n++) {
          yield* to(`x${n}@example.com`)
          yield* soon
          current = `x${n}@example.com`
        }
        const often = problem("This approval was passed on too often")
        assert.strictEqual(yield* refused(to("y@example.com")), often)
        const closed = yield* scene({ delegation: false })
        const token = yield* closed.tokenOf(ann)
        const never = problem("This approval cannot be passed on")
        const delegated = closed.approvals.delegate(token, "y@example.com")
        assert.strictEqual(yield* refused(delegated), never)
      }).pipe(Effect.provide(shared())),
  )
})
