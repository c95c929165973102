// The ledger's arithmetic: single rules by example, and whole lives of an account as properties:
// settling late is settling at once, and the audit finds nothing but what was tampered with.
import { assert, describe, it } from "@effect/vitest"
import type { GrantRequest, CreditBalance, Settled } from "@millrace/core/domain/Grant"
import { adjust, grant, isDue, meter, settle } from "@millrace/core/domain/Grant"
import { AccountId, RunId } from "@millrace/core/domain/Id"
import type { Entry, RunEntry } from "@millrace/core/domain/Ledger"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { RunFacts, AuditLine } from "@millrace/core/domain/LedgerCheck"
import { LedgerCheck } from "@millrace/core/domain/LedgerCheck"
import { discrepanciesTold } from "@millrace/core/domain/Limits"
import { Schema } from "effect"

const accountId = AccountId.make("acc")
const empty: CreditBalance = { account: Ledger.unopened(accountId), grants: [] }
const operation = { accountId, actor: "ada", reason: "because" }

const requestOf = (id: string, amount: number, more: Partial<GrantRequest> = {}): GrantRequest => ({
  ...operation,
  id,
  amount,
  priority: 0,
  expiresAt: null,
  ...more,
})

const posted = (purse: CreditBalance, amount: number): CreditBalance => ({
  ...purse,
  account: { ...purse.account, posted: purse.account.posted - amount },
})

const leftOf = ({ grants }: CreditBalance) =>
  Object.fromEntries(grants.map(({ id, remaining }) => [id, remaining]))

describe("Grant.settle", () => {
  const three = [
    requestOf("forever", 10),
    requestOf("late", 10, { expiresAt: 300 }),
    requestOf("soon", 10, { expiresAt: 200 }),
  ].reduce<CreditBalance>((purse, request) => grant(purse, request, 1), empty)

  it("uses first what ends first", () => {
    assert.deepStrictEqual(leftOf(settle(posted(three, 15), 100)), {
      soon: 0,
      late: 5,
      forever: 10,
    })
  })

  it("uses a grant of a lower number before all of higher ones", () => {
    const more = grant(three, requestOf("promotion", 10, { priority: -1 }), 2)
    const left = leftOf(settle(posted(more, 15), 100))
    assert.deepStrictEqual(left, { promotion: 0, soon: 5, late: 10, forever: 10 })
  })

  it("uses of equal ones the oldest first, then the one with the lesser id", () => {
    const at = (id: string, millis: number, purse: CreditBalance) =>
      grant(purse, requestOf(id, 10), millis)
    const left = (purse: CreditBalance) => leftOf(settle(posted(purse, 5), 100))
    assert.deepStrictEqual(left(at("a", 2, at("b", 1, empty))), { b: 5, a: 10 })
    assert.deepStrictEqual(left(at("a", 1, at("b", 1, empty))), { a: 5, b: 10 })
    assert.deepStrictEqual(left(at("b", 1, at("a", 1, empty))), { a: 5, b: 10 })
  })

  it("is due with the first end of a grant that has credits left, and never without one", () => {
    assert.strictEqual(three.account.dueAt, 200)
    assert.strictEqual(settle(posted(three, 10), 100).account.dueAt, 300)
    assert.isNull(settle(posted(three, 20), 100).account.dueAt)
    assert.isNull(settle(empty, 1).account.dueAt)
    assert.isFalse(isDue(empty.account, Number.MAX_SAFE_INTEGER))
  })

  it("takes back what is left of a grant that is over, once", () => {
    const over = settle(posted(three, 4), 200)
    assert.strictEqual(over.account.posted, 20)
    assert.deepStrictEqual(
      over.entries.map(({ key, posted: by }) => [key, by]),
      [["expire:soon:6", -6]],
    )
    assert.strictEqual(over.account.dueAt, 300)
    const again = settle(over, 299)
    assert.deepStrictEqual(again.entries, [])
    assert.deepStrictEqual(leftOf(again), leftOf(over))
  })

  it("leaves what a reservation needs until nothing needs it", () => {
    const reserved = { ...three, account: { ...three.account, reserved: 25 } }
    const over = settle(reserved, 250)
    assert.deepStrictEqual(leftOf(over), { soon: 10, late: 10, forever: 10 })
    assert.isTrue(isDue(over.account, 250))
    const partly = settle({ ...over, account: { ...over.account, reserved: 7 } }, 260)
    assert.deepStrictEqual(leftOf(partly), { soon: 7, late: 10, forever: 10 })
    const free = settle({ ...partly, account: { ...partly.account, reserved: 0 } }, 270)
    assert.deepStrictEqual(leftOf(free), { soon: 0, late: 10, forever: 10 })
    assert.deepStrictEqual(
      free.entries.map(({ key }) => key),
      ["expire:soon:7"],
    )
    assert.isFalse(isDue(free.account, 270))
  })
})

describe("Grant.grant", () => {
  it("pays first what the account owes", () => {
    const owing = posted(empty, 4)
    const given = settle(grant(owing, requestOf("g", 10), 1), 1)
    assert.strictEqual(given.account.posted, 6)
    assert.deepStrictEqual(leftOf(given), { g: 6 })
  })
})

describe("Grant.adjust", () => {
  it("adds behind all grants, and takes as a run does", () => {
    const given = grant(empty, requestOf("g", 10), 1)
    const added = adjust(given, { ...operation, id: "a", amount: 5 }, 2)
    assert.deepStrictEqual(leftOf(settle(posted(added, 12), 3)), { g: 0, "adjust:a": 3 })
    const none = adjust(given, { ...operation, id: "a", amount: 0 }, 2)
    assert.deepStrictEqual(leftOf(none), { g: 10 })
    const taken = adjust(given, { ...operation, id: "a", amount: -3 }, 2)
    assert.deepStrictEqual(leftOf(settle(taken, 3)), { g: 7 })
  })
})

describe("Ledger.post", () => {
  it("takes from the reservation, and beyond it from what is available", () => {
    const entry = Ledger.post(6, "n", 2, 9, 1)
    assert.deepStrictEqual(entry, { kind: "post", part: "n#2", posted: -9, reserved: -6, at: 1 })
  })
})

describe("Ledger.amountToReserve", () => {
  it("is what a start and extensions reserve, whatever is posted or given back", () => {
    const entries = [
      Ledger.reserve(5, 1),
      Ledger.extend(3, 2, 1),
      Ledger.post(8, "n", 3, 6, 1),
      Ledger.voidRest(2, 1),
    ]
    assert.strictEqual(Ledger.amountToReserve(entries), 8)
    assert.strictEqual(Ledger.amountToReserve([]), 0)
  })
})

describe("Ledger.covers", () => {
  const account = { ...Ledger.unopened(accountId), metered: true, posted: 10, reserved: 4 }

  it("asks a metered account for as much as it has available, and no other", () => {
    assert.isTrue(Ledger.covers(account, 6))
    assert.isFalse(Ledger.covers(account, 7))
    assert.isTrue(Ledger.covers({ ...account, metered: false }, 7))
    // Nothing is covered also by an account that owes.
    assert.isTrue(Ledger.covers({ ...account, posted: 0 }, 0))
  })
})

describe("Ledger.nodeOf", () => {
  it("names the node that was paid for, and none where none was", () => {
    assert.strictEqual(Ledger.nodeOf({ kind: "post", part: "a:b#3" }), "a:b")
    assert.isNull(Ledger.nodeOf({ kind: "extend", part: "3" }))
  })
})

describe("Ledger.keyOf", () => {
  it("names an entry by what it is about", () => {
    assert.strictEqual(Ledger.keyOf("post", RunId.make("run_1"), "a:b#3"), "post:run_1:a:b#3")
    assert.strictEqual(Ledger.keyOf("void", RunId.make("run_1"), ""), "void:run_1")
    assert.strictEqual(Ledger.keyOf("grant", null, "g"), "grant:g")
  })
})

/** What happens in the life of an account; amounts and times are small so that they meet. */
type Event =
  | {
      readonly do: "grant"
      readonly amount: number
      readonly priority: number
      readonly life: number | null
    }
  | { readonly do: "adjust"; readonly amount: number }
  | { readonly do: "meter"; readonly on: boolean }
  | { readonly do: "start"; readonly amount: number }
  | { readonly do: "node"; readonly run: number; readonly cost: number; readonly extra: number }
  | { readonly do: "end"; readonly run: number }
  | { readonly do: "wait"; readonly millis: number }

/** Forty events out of a seed. */
const eventsOf = (seed: number): ReadonlyArray<Event> => {
  let state = seed
  const below = (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
  const draw = (): Event => {
    const kind = below(16)
    const run = below(4)
    if (kind < 2) {
      const life = below(3) === 0 ? null : 1 + below(20)
      return { do: "grant", amount: below(20), priority: below(2), life }
    }
    if (kind === 2) return { do: "adjust", amount: below(11) - 5 }
    if (kind === 3) return { do: "meter", on: below(3) > 0 }
    if (kind < 8) return { do: "start", amount: below(12) }
    if (kind < 12) return { do: "node", run, cost: below(9), extra: below(2) * below(9) }
    return kind < 14 ? { do: "end", run } : { do: "wait", millis: 1 + below(8) }
  }
  return Array.from({ length: 40 }, draw)
}

const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 }))
const many = { arbitrary: { runs: 1_000 } }

interface LiveRun {
  readonly held: number
  readonly facts: RunFacts
  readonly nodes: number
}

/** An account that lives through events, as a store and an engine would have it. */
class Life {
  purse: CreditBalance = empty
  now = 0
  readonly entries: Array<Entry> = []
  readonly runs: Array<LiveRun> = []
  #names = 0
  readonly #isEager: boolean

  constructor(isEager: boolean) {
    this.#isEager = isEager
  }

  take({ account, entries, grants }: Settled): void {
    this.purse = { account, grants: grants.filter(({ remaining }) => remaining > 0) }
    this.entries.push(...entries)
  }

  settle(): void {
    this.take(settle(this.purse, this.now))
  }

  /** Moves credits of a run; false where they are not covered. */
  move(index: number, run: LiveRun, moved: ReadonlyArray<RunEntry>): boolean {
    if (isDue(this.purse.account, this.now)) this.settle()
    const { account } = this.purse
    if (!Ledger.covers(account, Ledger.amountToReserve(moved))) return false
    this.purse = { ...this.purse, account: Ledger.applied(account, moved) }
    const { id } = run.facts
    this.entries.push(...moved.map((entry) => Ledger.entryOf(accountId, id, entry)))
    this.runs[index] = run
    return true
  }

  start(amount: number): void {
    const id = RunId.make(`run_${this.runs.length}`)
    const costs = { estimatedCredits: amount, actualCredits: 0 }
    const facts = { id, status: "RUNNING", startAt: null, ...costs } as const
    const entries = amount === 0 ? [] : [Ledger.reserve(amount, this.now)]
    this.move(this.runs.length, { facts, held: amount, nodes: 0 }, entries)
  }

  node(index: number, run: LiveRun, cost: number, extra: number): void {
    const grown = { ...run, held: run.held + extra }
    const extended = extra === 0 ? [] : [Ledger.extend(extra, run.nodes, this.now)]
    const next = (before: LiveRun): LiveRun => ({
      ...before,
      held: Math.max(0, before.held - cost),
      nodes: run.nodes + 1,
      facts: { ...before.facts, actualCredits: before.facts.actualCredits + cost },
    })
    const paid = (before: LiveRun) =>
      cost === 0 ? [] : [Ledger.post(before.held, `n${run.nodes}`, 2, cost, this.now)]
    if (this.move(index, next(grown), [...extended, ...paid(grown)])) return
    this.move(index, next(run), paid(run))
  }

  live(event: Event): void {
    const index = "run" in event ? this.runs.length - 1 - event.run : -1
    const run = this.runs[index]
    const isOpen = run?.facts.status === "RUNNING"
    const name = `${this.#names++}`
    if (event.do === "grant") {
      const expiresAt = event.life === null ? null : this.now + event.life
      const { amount, priority } = event
      const request = requestOf(name, amount, { priority, expiresAt })
      this.take(grant(this.purse, request, this.now))
    } else if (event.do === "adjust") {
      this.take(adjust(this.purse, { ...operation, id: name, amount: event.amount }, this.now))
    } else if (event.do === "meter") {
      this.take(meter(this.purse, { ...operation, id: name }, event.on, this.now))
    } else if (event.do === "start") this.start(event.amount)
    else if (event.do === "node" && isOpen) this.node(index, run, event.cost, event.extra)
    else if (event.do === "end" && isOpen) {
      const facts = { ...run.facts, status: "COMPLETED" } as const
      const moved = this.entries.some(({ runId }) => runId === facts.id)
      const entries = moved ? [Ledger.voidRest(run.held, this.now)] : []
      this.move(index, { ...run, facts }, entries)
    } else if (event.do === "wait") this.wait(event.millis)
    if (this.#isEager) this.settle()
  }

  wait(millis: number): void {
    for (let step = 0; step < millis; step++) {
      this.now += 1
      if (this.#isEager) this.settle()
    }
  }

  audit(): ReadonlyArray<AuditLine> {
    return this.entries.map((entry, number) => ({
      entry: { ...entry, number },
      run: this.runs.find(({ facts }) => facts.id === entry.runId)?.facts ?? null,
    }))
  }

  problems(lines = this.audit()): ReadonlyArray<string> {
    const check = new LedgerCheck(this.purse)
    for (const line of lines) check.read(line)
    return check.end().map(({ message }) => message)
  }
}

const lifeOf = (events: ReadonlyArray<Event>, isEager: boolean): Life => {
  const life = new Life(isEager)
  for (const event of events) life.live(event)
  life.settle()
  return life
}

describe("The life of an account", () => {
  it.prop(
    "is the same, whether grants are settled at once or late",
    [Seed],
    ([seed]) => {
      const [late, atOnce] = [lifeOf(eventsOf(seed), false), lifeOf(eventsOf(seed), true)]
      assert.deepStrictEqual(late.purse.account, atOnce.purse.account)
      assert.deepStrictEqual(leftOf(late.purse), leftOf(atOnce.purse))
      assert.deepStrictEqual(late.runs, atOnce.runs)
    },
    many,
  )

  it.prop(
    "adds up, and names no entry twice",
    [Seed],
    ([seed]) => {
      const life = lifeOf(eventsOf(seed), false)
      assert.deepStrictEqual(life.problems(), [])
      const keys = life.entries.map(({ key }) => key)
      assert.strictEqual(new Set(keys).size, keys.length)
    },
    many,
  )

  it.prop(
    "never lets an expiry take what is reserved",
    [Seed],
    ([seed]) => {
      const life = new Life(true)
      for (const event of eventsOf(seed)) {
        const seen = life.entries.length
        life.live(event)
        const expired = life.entries.slice(seen).some(({ kind }) => kind === "expire")
        if (expired) assert.isAtLeast(Ledger.availableOf(life.purse.account), 0)
      }
    },
    many,
  )

  it.prop(
    "does not add up with any entry of a run left out",
    [Seed, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))],
    ([seed, index]) => {
      const life = lifeOf(eventsOf(seed), false)
      const lines = life.audit()
      const gone = lines.filter(({ entry }) => entry?.runId !== null)[index]
      if (gone === undefined) return
      assert.isNotEmpty(life.problems(lines.filter((line) => line !== gone)))
    },
    many,
  )
})

describe("LedgerCheck", () => {
  const facts: RunFacts = {
    id: RunId.make("run_1"),
    status: "COMPLETED",
    estimatedCredits: 5_000_000,
    actualCredits: 3_000_000,
    startAt: null,
  }
  const line = (entry: RunEntry, run: RunFacts | null = facts): AuditLine => ({
    entry: { ...Ledger.entryOf(accountId, facts.id, entry), number: 1 },
    run,
  })
  const right = [
    line(Ledger.reserve(5_000_000, 1)),
    line(Ledger.post(5_000_000, "n", 2, 3_000_000, 1)),
    line(Ledger.voidRest(2_000_000, 1)),
  ]
  const problemsOf = (lines: ReadonlyArray<AuditLine>, balance = -3_000_000) => {
    const account = { ...Ledger.unopened(accountId), posted: balance }
    const check = new LedgerCheck({ account, grants: [] })
    for (const each of lines) check.read(each)
    return check.end().map(({ message }) => message)
  }

  const cases: ReadonlyArray<[string, ReadonlyArray<AuditLine>, number, RegExp]> = [
    ["a balance that moved by itself", right, 0, /^posted is 0, and its entries add up to -3$/],
    ["a run that nobody settled", right.slice(0, 2), -3_000_000, /^Run run_1 has ended, and 2 are/],
    ["a second settlement", [...right, right[2]!], -3_000_000, /was settled 1 times|given back/],
    ["a second reservation", [right[0]!, ...right], -3_000_000, /was reserved for 2 times/],
    ["an entry of no run", [line(Ledger.reserve(1, 1), null)], 0, /a run that does not exist/],
    [
      "a run without entries, to start later",
      [{ entry: null, run: { ...facts, startAt: 1 } }],
      0,
      /has cost 3/,
    ],
    ["a run without entries", [{ entry: null, run: facts }], 0, /has cost 3, and 0 were posted/],
    [
      "credits that were not posted",
      right.map(({ entry }) => ({ entry, run: { ...facts, actualCredits: 4_000_000 } })),
      -3_000_000,
      /^Run run_1 has cost 4, and 3 were posted for it$/,
    ],
  ]
  for (const [name, lines, balance, expected] of cases) {
    it(`names ${name}`, () => {
      assert.match(problemsOf(lines, balance).join("\n"), expected)
    })
  }

  const told = (problems: ReadonlyArray<string>, message: string) =>
    assert.include(problems, message, problems.join("\n"))

  it("names a run whose estimate is another one", () => {
    const other = right.map(({ entry }) => ({ entry, run: { ...facts, estimatedCredits: 1 } }))
    const problems = problemsOf(other)
    assert.deepStrictEqual(problems, ["Run run_1 is estimated at 0.000001, and reserved 5"])
  })

  it("names a run that gave back more than it had, and one that goes on without anything", () => {
    const open = { ...facts, status: "RUNNING" } as const
    const more = [...right, line(Ledger.voidRest(1_000_000, 1))]
    const problems = problemsOf(more.map(({ entry }) => ({ entry, run: open })))
    told(problems, "Run run_1 has given back 1 more than it had")
    told(problems, "Run run_1 is RUNNING, and its reservation was voided")
    const going = right.slice(0, 2).map(({ entry }) => ({ entry, run: open }))
    assert.deepStrictEqual(problemsOf(going), ["reserved is 0, and its entries add up to 2"])
  })

  it("names metering that the entries do not say", () => {
    const check = (metered: boolean, entries: ReadonlyArray<Entry>) => {
      const reader = new LedgerCheck({ account: { ...empty.account, metered }, grants: [] })
      for (const entry of entries) reader.read({ entry: { ...entry, number: 1 }, run: null })
      return reader.end().map(({ message }) => message)
    }
    const { entries } = meter(empty, { ...operation, id: "m" }, true, 1)
    assert.deepStrictEqual(check(true, entries), [])
    const against = "metered, against its entries"
    assert.deepStrictEqual(check(false, entries), [`The account is not ${against}`])
    assert.deepStrictEqual(check(true, []), [`The account is ${against}`])
  })

  it("names grants that do not have what is left on the account", () => {
    const given = grant(empty, requestOf("g", 10_000_000), 1)
    const read = (grants: typeof given.grants) => {
      const check = new LedgerCheck({ account: given.account, grants })
      check.read({ entry: { ...given.entries[0]!, number: 1 }, run: null })
      return check.end().map(({ message }) => message)
    }
    assert.deepStrictEqual(read(given.grants), [])
    assert.deepStrictEqual(read([]), ["0 are left of its grants, and 10 on the account"])
  })

  it("tells of so many things at most", () => {
    const check = new LedgerCheck({ account: empty.account, grants: [] })
    for (let n = 0; n < discrepanciesTold + 5; n++) check.read({ entry: null, run: facts })
    assert.lengthOf(check.end(), discrepanciesTold)
    const nothing = new LedgerCheck({ account: empty.account, grants: [] })
    nothing.read({ entry: null, run: null })
    assert.deepStrictEqual(nothing.end(), [])
  })

  it("finds nothing where all is right", () => {
    assert.deepStrictEqual(problemsOf(right), [])
  })

  it("names what was reserved beyond the cover of a metered account", () => {
    const on = meter(empty, { ...operation, id: "m" }, true, 1)
    const account = { ...on.account, reserved: 2 }
    const check = new LedgerCheck({ account, grants: [] })
    const open: RunFacts = { ...facts, status: "RUNNING", estimatedCredits: 2, actualCredits: 0 }
    check.read({ entry: { ...on.entries[0]!, number: 1 }, run: null })
    check.read(line(Ledger.reserve(2, 1), open))
    const problems = check.end().map(({ message }) => message)
    assert.deepStrictEqual(problems, [
      "Entry reserve:run_1 reserved 0.000002 more than was available",
    ])
  })
})
