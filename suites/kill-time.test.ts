/**
 * Retries, waits and time limits while the servers that keep them are killed: 100 seeds of small
 * workflows on three servers, and a delay that outlives two of them.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { Dice, seedOf } from "../packages/server/test/kill/Dice.ts"
import type { Story } from "../packages/server/test/kill/Evidence.ts"
import { readStories } from "../packages/server/test/kill/Evidence.ts"
import { lateMillis } from "../packages/server/test/kill/Late.ts"
import { query } from "../packages/server/test/kill/Sql.ts"
import { readEntries } from "../packages/server/test/kill/Trial.ts"
import type { TrialDrawing } from "../packages/server/test/kill/TrialDrawing.ts"
import { bodyOf, drawTrial } from "../packages/server/test/kill/TrialDrawing.ts"
import { problemsOfTrials } from "../packages/server/test/kill/TrialRules.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

const seeds = 100
/** So many seeds begin together, and share the kills of their time. */
const atOnce = 4
const kills = 2
const blockMillis = 4_000
const runsPerSeed = 4
const leaseMillis = 2_000
const env = { MILLRACE_LEASE: `${leaseMillis}ms` }

/** Plays seeds, and keeps what nobody but a witness knows. */
class Trials {
  readonly drawings = new Map<string, TrialDrawing>()
  readonly acknowledged: Array<string> = []
  readonly cancels = new Map<string, number>()
  readonly kills = new Map<number, number>()
  readonly #arena: Arena

  constructor(place: Arena) {
    this.#arena = place
  }

  /** Stores the workflow of a seed and starts its runs; some are canceled at some time. */
  async play(seed: number): Promise<void> {
    const dice = new Dice(seed)
    const drawing = drawTrial(`seed ${seed}`, dice)
    this.drawings.set(drawing.name, drawing)
    const { traffic } = this.#arena
    const { id } = await traffic.insist<{ id: string }>("POST", "/workflows", bodyOf(drawing))
    const runs = Array.from({ length: runsPerSeed }, () => ({
      after: dice.below(blockMillis / 2),
      cancelAfter: dice.next() < 0.15 ? dice.below(3_000) : undefined,
    }))
    await Promise.all(
      runs.map(async ({ after, cancelAfter }) => {
        await sleep(after)
        const answer = await traffic.insist<{ runId: string }>("POST", "/runs", { workflowId: id })
        this.acknowledged.push(answer.runId)
        if (cancelAfter === undefined) return
        await sleep(cancelAfter)
        await this.#cancel(answer.runId)
      }),
    )
  }

  /**
   * Kills a server at each of some moments from now on, or as soon as another one is there:
   * somebody has to go on with what it leaves.
   */
  async kill(moments: ReadonlyArray<number>, dice: Dice): Promise<void> {
    const begun = Date.now()
    for (const at of moments) {
      await sleep(Math.max(0, begun + at - Date.now()))
      while (Date.now() < begun + blockMillis && !(await this.#killOne(dice))) await sleep(50)
    }
  }

  async #killOne(dice: Dice): Promise<boolean> {
    const running = this.#arena.fleet.seats.filter(({ origin }) => origin !== undefined)
    if (running.length < 2) return false
    const { server } = dice.pick(running)
    this.kills.set(server.pid, Date.now())
    await server.end("SIGKILL")
    return true
  }

  async #cancel(runId: string): Promise<void> {
    const { fleet, traffic } = this.#arena
    while (!this.cancels.has(runId)) {
      const origin = fleet.origins()[0]
      const response = await fetch(`${origin}/api/v1/runs/${runId}/cancel`, {
        method: "POST",
        headers: { authorization: `Bearer ${traffic.secret}` },
        signal: AbortSignal.timeout(60_000),
      }).catch(() => undefined)
      if (response?.status === 200 || response?.status === 409) {
        this.cancels.set(runId, response.status)
      } else await sleep(50)
    }
  }
}

/** How late delays were, in milliseconds and in order. */
const latenessOf = (stories: ReadonlyArray<Story>, trials: Trials): ReadonlyArray<number> =>
  stories
    .flatMap(({ nodeRuns, run }) =>
      nodeRuns.flatMap((row) => {
        const node = trials.drawings
          .get(run.workflowName)
          ?.nodes.find(({ id }) => id === row.nodeId)
        const isDelay = node?.type === "delay" && row.status === "COMPLETED"
        return isDelay ? [(row.finishedAt ?? 0) - (row.startedAt ?? 0) - node.millis] : []
      }),
    )
    .toSorted((left, right) => left - right)

const tell = (stories: ReadonlyArray<Story>, trials: Trials, again: number): void => {
  const ends = ["COMPLETED", "FAILED", "CANCELED"].map(
    (status) => `${stories.filter(({ run }) => run.status === status).length} ${status}`,
  )
  const late = latenessOf(stories, trials)
  const parked = stories.filter(({ run }) => run.fence > 1).length
  console.log(
    `${stories.length} runs of ${seeds} seeds: ${ends.join(", ")}; ${trials.kills.size} kills,`,
    `${parked} runs changed hands, ${again} further attempts, ${late.length} delays,`,
    `late by ${late[Math.floor(late.length / 2)]} ms (median) to ${late.at(-1)} ms`,
  )
}

describe("retries, waits and time limits under kill -9", () => {
  it(`are what they have to be, over ${seeds} seeds`, async () => {
    const first = seedOf()
    arena = await Arena.open({ seed: first, size: 3, env })
    const trials = new Trials(arena)
    const played: Array<Promise<unknown>> = []
    for (let seed = first; seed < first + seeds; seed += atOnce) {
      for (let each = seed; each < seed + atOnce; each++) played.push(trials.play(each))
      played.push(trials.kill(arena.dice.moments(kills, 300, blockMillis - 300), arena.dice))
      await sleep(blockMillis)
    }
    await Promise.all(played)
    await arena.settled()
    const { url } = arena.postgres
    const stories = await readStories(url)
    const entries = readEntries(arena.journalPath)
    const again = entries.filter(({ attempt, what }) => what === "begin" && attempt > 1).length
    tell(stories, trials, again)
    const { acknowledged, cancels, drawings, kills: killed } = trials
    const witness = { acknowledged, cancels, drawings, kills: killed, entries }
    const problems = problemsOfTrials(stories, witness)
    expect([...arena.traffic.violations, ...problems]).toEqual([])
    expect(trials.acknowledged.length).toBe(seeds * runsPerSeed)
    expect(await query(url, "SELECT * FROM open_runs")).toEqual([])
    // Nobody ended who was not killed.
    expect(arena.fleet.seats.flatMap(({ ends }) => ends).length).toBe(trials.kills.size)
    expect(trials.kills.size).toBeGreaterThan(10)
    const late = latenessOf(stories, trials)
    expect(late[Math.floor(late.length / 2)]).toBeLessThan(lateMillis)
  })
})

/** Starts a run that waits for so long, and then does one thing more. */
const startDelay = async ({ traffic }: Arena, millis: number): Promise<string> => {
  const plain = { acts: [], attempts: 1, initial: 0, jitter: 0, timeout: undefined } as const
  const drawing: TrialDrawing = {
    name: "delay",
    nodes: [
      { ...plain, id: "wait", type: "delay", millis, onError: "fail" },
      { ...plain, id: "then", type: "trial", millis: 0, acts: ["ok"], onError: "fail" },
    ],
    edges: [{ source: "wait", port: "output", target: "then" }],
    onFailure: "continue",
    timeoutMillis: undefined,
  }
  const { id } = await traffic.insist<{ id: string }>("POST", "/workflows", bodyOf(drawing))
  const { runId } = await traffic.insist<{ runId: string }>("POST", "/runs", { workflowId: id })
  return runId
}

/**
 * Waits until a run waits: parked until its time, or held by its owner. False when it had ended
 * before that was seen.
 */
const waits = async (url: string, runId: string, parked: boolean): Promise<boolean> => {
  const statement = `SELECT finished_at IS NOT NULL AS ended,
    (due_at IS NOT NULL) = ${parked} AND waiting::text <> '[]' AS waits FROM runs WHERE id = $1`
  for (;;) {
    type Row = { readonly ended: boolean; readonly waits: boolean }
    const [row] = await query<Row>(url, statement, [runId])
    if (row?.ended === true || row?.waits === true) return row.waits
    await sleep(20)
  }
}

/** The attempts of a run that began so far. */
const begunOf = ({ journalPath }: Arena, runId: string) =>
  readEntries(journalPath).filter((each) => each.what === "begin" && each.runId === runId)

/** When the delay of a run was due and when it was over, by its record. */
const delayOf = async (stage: Arena, runId: string, millis: number) => {
  await stage.settled()
  const stories = await readStories(stage.postgres.url)
  const story = stories.find(({ run }) => run.id === runId)
  const row = story?.nodeRuns.find(({ nodeId }) => nodeId === "wait")
  const then = begunOf(stage, runId)
  // Once it was over, what follows was done, and once.
  expect(story?.run.status).toBe("COMPLETED")
  expect(story?.events.map(({ type }) => type)).toEqual([
    "run.started",
    "node.completed",
    "node.completed",
    "run.completed",
  ])
  expect(then.map(({ attempt, nodeId }) => [nodeId, attempt])).toEqual([["then", 1]])
  expect(row?.attempt).toBe(1)
  return { due: (row?.startedAt ?? 0) + millis, fired: row?.finishedAt ?? 0, began: then[0]!.at }
}

/**
 * Starts a run that waits for so long, and kills every server meanwhile. Another run is started
 * where the delay of one was over before anybody was killed.
 */
const killWithin = async (stage: Arena, millis: number) => {
  const { fleet, postgres } = stage
  for (;;) {
    const runId = await startDelay(stage, millis)
    if (!(await waits(postgres.url, runId, false))) continue
    const killed = Date.now()
    await Promise.all(fleet.seats.map(({ server }) => server.end("SIGKILL")))
    if (begunOf(stage, runId).length === 0) return { killed, runId }
    await fleet.ready()
  }
}

describe("a delay", () => {
  it("of 3 s across two restarts fires once, at its time", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2, env })
    const { fleet, postgres } = arena
    const [first, second] = fleet.seats
    const runId = await startDelay(arena, 3_000)
    expect(await waits(postgres.url, runId, true)).toBe(true)
    await first!.server.end("SIGKILL")
    // The second one stops when a third one has come in the place of the first.
    while (first!.ends.length < 1) await sleep(10)
    await fleet.ready()
    const third = Date.now()
    await second!.server.end("SIGTERM")
    const { began, due, fired } = await delayOf(arena, runId, 3_000)
    console.log(`the third server was there at ${third - due} ms, it fired at ${fired - due} ms`)
    expect(first!.ends.map(({ signal }) => signal)).toEqual(["SIGKILL"])
    expect(second!.ends.map(({ code }) => code)).toEqual([0])
    expect(fired).toBeGreaterThanOrEqual(due)
    expect(began).toBeGreaterThanOrEqual(due)
    expect(fired - due).toBeLessThan(lateMillis)
  })

  it("that was too short to be parked outlives its owner by a lease", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2, env })
    const { fleet } = arena
    const { killed, runId } = await killWithin(arena, 900)
    await fleet.ready()
    const ready = Date.now()
    const { due, fired } = await delayOf(arena, runId, 900)
    console.log(`its owner was killed; it fired ${fired - due} ms after its time`)
    expect(fired).toBeGreaterThanOrEqual(due)
    expect(fired - Math.max(killed + leaseMillis, ready)).toBeLessThan(lateMillis)
  })
})
