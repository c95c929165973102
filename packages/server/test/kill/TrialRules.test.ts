/**
 * The rules of the trials can fail: each offence is found, and nothing else is.
 */
import type { NodeRun, Run } from "@millrace/core/domain/Run"
import { describe, expect, it } from "vitest"
import type { Story } from "./Evidence.ts"
import type { Act, Entry } from "./Trial.ts"
import type { TrialDrawing, TrialNode } from "./TrialDrawing.ts"
import { bodyOf } from "./TrialDrawing.ts"
import type { Witness } from "./TrialRules.ts"
import { problemsOfTrials } from "./TrialRules.ts"

const node = (id: string, type: TrialNode["type"], acts: ReadonlyArray<Act>): TrialNode => ({
  id,
  type,
  acts,
  millis: 500,
  attempts: 2,
  initial: 100,
  jitter: 0,
  timeout: undefined,
  onError: "fail",
})

/** A node that succeeds the second time, a delay, and a node after both that may be called once. */
const drawing: TrialDrawing = {
  name: "seed 1",
  nodes: [
    node("again", "trial", ["fail", "ok"]),
    node("wait", "delay", []),
    node("last", "once", ["ok"]),
  ],
  edges: [
    { source: "again", port: "output", target: "wait" },
    { source: "wait", port: "output", target: "last" },
  ],
  onFailure: "continue",
  timeoutMillis: undefined,
}

const nodeRun = (nodeId: string, ordinal: number, attempt: number, from: number, until: number) =>
  ({
    nodeId,
    ordinal,
    attempt,
    status: "COMPLETED",
    output: { output: 1 },
    error: null,
    logs: null,
    startedAt: from,
    finishedAt: until,
  }) as unknown as NodeRun

const event = (sequence: number, type: string, nodeId?: string): Story["events"][number] =>
  ({ sequence, type, data: nodeId === undefined ? {} : { nodeId } }) as Story["events"][number]

const entry = (nodeId: string, attempt: number, what: Entry["what"], at: number): Entry => ({
  runId: "run_1",
  nodeId,
  attempt,
  pid: 7,
  what,
  at,
})

const good: Story = {
  run: {
    id: "run_1",
    workflowName: "seed 1",
    status: "COMPLETED",
    error: null,
    attempts: 4,
    nodeRunCount: 3,
    active: [],
    waiting: [],
    dueAt: null,
    sequence: 5,
    startedAt: 0,
    finishedAt: 1_000,
  } as unknown as Run,
  definition: {
    id: "d",
    settings: {},
    ...(bodyOf(drawing) as Pick<Story["definition"], "nodes">),
    edges: [],
  },
  nodeRuns: [
    nodeRun("again", 0, 2, 0, 120),
    nodeRun("wait", 1, 1, 130, 640),
    nodeRun("last", 2, 1, 650, 700),
  ],
  events: [
    event(1, "run.started"),
    event(2, "node.completed", "again"),
    event(3, "node.completed", "wait"),
    event(4, "node.completed", "last"),
    event(5, "run.completed"),
  ],
}

const entries = [
  entry("again", 1, "begin", 0),
  entry("again", 1, "fail", 10),
  entry("again", 2, "begin", 110),
  entry("again", 2, "ok", 115),
  entry("last", 1, "begin", 650),
  entry("last", 1, "ok", 690),
]

const witness: Witness = {
  drawings: new Map([["seed 1", drawing]]),
  acknowledged: ["run_1"],
  cancels: new Map(),
  entries,
  kills: new Map(),
}

const withRun = (change: Partial<Run>): Story => ({ ...good, run: { ...good.run, ...change } })

const withRow = (index: number, change: Partial<NodeRun>): Story => ({
  ...good,
  nodeRuns: good.nodeRuns.with(index, { ...good.nodeRuns[index]!, ...change }),
})

const problems = (story: Story, change: Partial<Witness> = {}): string =>
  problemsOfTrials([story], { ...witness, ...change }).join("\n")

describe("TrialRules.problemsOfTrials", () => {
  it("finds nothing wrong with what is right", () => {
    expect(problems(good)).toBe("")
  })

  const offences: ReadonlyArray<readonly [string, Story, RegExp]> = [
    ["an open run", withRun({ status: "RUNNING" }), /is RUNNING/],
    ["a wrong status", withRun({ status: "FAILED", error: "why" }), /is FAILED, not COMPLETED/],
    ["a run parked for ever", withRun({ dueAt: 5 }), /is parked although/],
    ["a wrong count of attempts", withRun({ attempts: 5 }), /counts 5 attempts/],
    ["a lost node", { ...good, nodeRuns: good.nodeRuns.slice(0, 2) }, /ended without last/],
    ["a node twice", { ...good, nodeRuns: [...good.nodeRuns, good.nodeRuns[0]!] }, /again is rec/],
    ["a missing event", { ...good, events: good.events.toSpliced(2, 1) }, /events are 1 2 4 5/],
    ["a delay that was early", withRow(1, { finishedAt: 600 }), /wait fired before/],
    ["a result that nobody had", withRow(0, { attempt: 1 }), /done though it had to fail/],
    ["a failure that nobody had", withRow(2, { status: "FAILED", output: null }), /was to succeed/],
    ["a skip without a reason", withRow(2, { status: "SKIPPED" }), /skipped though something/],
    ["a join too early", withRow(1, { finishedAt: 660 }), /last began before wait had/],
  ]
  it.each(offences)("finds %s", (_, story, sentence) => {
    expect(problems(story)).toMatch(sentence)
  })

  it("finds what nobody was told, and what everybody was", () => {
    expect(problems(good, { acknowledged: ["run_2"] })).toMatch(
      /run_2 was answered for and is lost/,
    )
    const cancels = new Map([["run_1", 200]])
    expect(problems(good, { cancels })).toMatch(/though its cancel was answered with 200/)
  })

  it("finds attempts that never should have begun", () => {
    const early = entries.with(2, entry("again", 2, "begin", 60))
    expect(problems(good, { entries: early })).toMatch(/again waited 50 ms, not 100/)
    const third = [...entries, entry("again", 3, "begin", 900)]
    expect(problems(good, { entries: third })).toMatch(/attempt 3 of 2/)
    const twice = [...entries, entry("again", 2, "begin", 111)]
    expect(problems(good, { entries: twice })).toMatch(/attempt 2 began 2 times/)
    const repeated = [...entries, entry("last", 2, "begin", 900)]
    expect(problems(good, { entries: repeated })).toMatch(/last attempt 2 of what may be once/)
  })

  it("lets an attempt follow one whose process was killed, unless it may be made only once", () => {
    const third = [...entries, entry("again", 3, "begin", 900), entry("again", 3, "ok", 910)]
    const story = { ...withRow(0, { attempt: 3 }), run: { ...good.run, attempts: 5 } }
    const kills = new Map([[7, 800]])
    expect(problems(story, { entries: third, kills })).toBe("")
    const repeated = [...entries, entry("last", 2, "begin", 900)]
    expect(problems(good, { entries: repeated, kills })).toMatch(/attempt 2 of what may be once/)
  })
})
