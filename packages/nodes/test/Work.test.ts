import { describe, expect, it } from "@effect/vitest"
import type { Json } from "@millrace/core/domain/Json"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { Effect, Fiber } from "effect"
import { condition } from "../src/internal/Condition.ts"
import { list } from "../src/internal/List.ts"
import { compileRule, isHeldBy } from "@millrace/core/domain/Rule"
import type { Step } from "../src/Steps.ts"
import { carryOut } from "../src/Steps.ts"
import { switchNode } from "../src/internal/Switch.ts"
import { fill } from "../src/Template.ts"
import { transform } from "../src/internal/Transform.ts"
import type { Job } from "@millrace/core/domain/Work"
import { slice, Work } from "@millrace/core/domain/Work"
import { failing, run } from "./TestNode.ts"

const times = <A>(length: number, make: (at: number) => A) =>
  Array.from({ length }, (_, at) => make(at))

const conditions = (count: number) => ({
  all: times(count, (at) => ({ path: "a", op: "notEquals" as const, value: -at - 1 })),
})

const objects = (count: number) => times(count, (at) => ({ a: (at * 7_919) % count, b: `${at}` }))

/** The operations between the places at which a job can be left. */
const piecesOf = (begin: (work: Work) => Job<unknown>): ReadonlyArray<number> => {
  const work = new Work(Number.POSITIVE_INFINITY)
  const job = begin(work)
  const pieces: Array<number> = []
  for (let before = 0, isOver = false; !isOver; before = work.done) {
    isOver = job.next().done === true
    work.goOn()
    pieces.push(work.done - before)
  }
  return pieces
}

const listing =
  (items: ReadonlyArray<Json>, ...steps: ReadonlyArray<Step>) =>
  (work: Work) =>
    carryOut(items, steps, work)

const jobs: ReadonlyArray<[name: string, begin: (work: Work) => Job<unknown>]> = [
  [
    "steps of 90 conditions over 9,000 items",
    listing(objects(9_000), ...times(3, () => ({ op: "filter", rule: conditions(90) }) as const)),
  ],
  ["sorting 50,000 items", listing(objects(50_000), { op: "sort", by: "a" })],
  [
    "20 sums of 9,000 groups",
    listing(objects(9_000), { op: "group", by: "b", sum: times(20, () => "a") }),
  ],
  ["a sum of 50,000 items", listing(objects(50_000), { op: "sum", path: "a" })],
  [
    "one value that 100 conditions search",
    (work) =>
      isHeldBy(
        compileRule({ all: times(100, () => ({ op: "contains", value: 0 }) as const) }),
        times(20_000, (at) => 20_000 - at - 1),
        work,
      ),
  ],
  [
    "a template of 20,000 expressions",
    (work) =>
      fill(
        times(10_000, () => "{{ input }}!"),
        { input: "x".repeat(90) },
        work,
      ),
  ],
]

describe("Work", () => {
  for (const [name, begin] of jobs) {
    it(`lets the process do other things after every 50,000 operations: ${name}`, () => {
      const pieces = piecesOf(begin)
      expect(pieces.length).toBeGreaterThan(2)
      expect(Math.max(...pieces)).toBeLessThan(slice * 1.5)
    })
  }

  it.live("lets sockets and timers in between two slices, however many nodes compute", () =>
    Effect.gen(function* () {
      const items = objects(2_000)
      const steps = times(2, () => ({ op: "filter", rule: conditions(90) }) as const)
      const slices = piecesOf(listing(items, ...steps)).length
      let turns = 0
      let isOver = false
      const count = () => {
        turns += 1
        if (!isOver) setImmediate(count)
      }
      setImmediate(count)
      const nodes = times(10, () => run(list, { items, steps }))
      yield* Effect.all(nodes, { concurrency: "unbounded" })
      isOver = true
      expect(turns).toBeGreaterThanOrEqual(10 * (slices - 2))
    }),
  )

  it.live("ends when its attempt is interrupted", () =>
    Effect.gen(function* () {
      const rule = conditions(90)
      const steps = times(50, () => ({ op: "filter", rule }) as const)
      let isDone = false
      const node = Effect.tap(run(list, { items: objects(9_000), steps }), () =>
        Effect.sync(() => (isDone = true)),
      )
      const fiber = yield* Effect.forkChild(node, { startImmediately: true })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      expect(isDone).toBe(false)
    }),
  )

  it.effect("refuses what is beyond the bound, in a sentence that says what to do", () =>
    Effect.gen(function* () {
      const sentence =
        "the node needs more than 500 operations, the most that one attempt may do " +
        "(limit workPerNode): give it fewer items, steps or conditions"
      const rule = conditions(90)
      const input = { a: 1 }
      const items = times(9, () => input)
      expect(yield* failing(list, { items, steps: [{ op: "filter", rule }] })).toBe(sentence)
      const all = { all: times(6, () => ({ op: "contains", value: 1 })) }
      const zeros = times(100, () => 0)
      const any = { any: all.all }
      expect(yield* failing(condition, { input: zeros, rule: any })).toBe(sentence)
      const cases = [{ name: "one", rule: any }]
      expect(yield* failing(switchNode, { input: zeros, cases })).toBe(sentence)
      const template = times(200, () => "{{ input }}!")
      expect(yield* failing(transform, { input, template })).toBe(sentence)
    }).pipe(Effect.provideService(CurrentLimits, { ...defaultLimits, workPerNode: 500 })),
  )

  it("allows 50 steps of 90 conditions over 9,000 items where nothing else is said", () => {
    const steps = times(50, () => ({ op: "filter", rule: conditions(90) }) as const)
    const tenth = piecesOf(listing(objects(900), ...steps)).reduce((sum, each) => sum + each, 0)
    expect(tenth * 10).toBeLessThan(defaultLimits.workPerNode)
  })
})
