/**
 * The rules of the kill tests can fail: each offence is found, and nothing else is.
 */
import type { NodeRun, Run } from "@millrace/core/domain/Run"
import { describe, expect, it } from "vitest"
import type { Story } from "./Evidence.ts"
import { problemsOf } from "./Evidence.ts"
import { line } from "./Work.ts"

const drawing = line("flow", 3, 10)
const drawings = new Map([["flow", drawing]])

const nodeRun = (nodeId: string, sequence: number): NodeRun =>
  ({
    nodeId,
    status: "COMPLETED",
    attempt: 1,
    sequence,
    credits: nodeId === "answer" ? 0 : 250_000,
  }) as NodeRun

const event = (sequence: number, type: string, nodeId?: string): Story["events"][number] =>
  ({ sequence, type, data: nodeId === undefined ? {} : { nodeId } }) as Story["events"][number]

/** A run as it has to be. */
const good: Story = {
  run: {
    id: "run_1",
    workflowName: "flow",
    status: "COMPLETED",
    error: null,
    output: drawing.output,
    nodeRunCount: 3,
    actualCredits: 500_000,
    active: [],
    sequence: 5,
  } as unknown as Run,
  definition: { id: "d", nodes: [], edges: [], settings: {} },
  nodeRuns: [nodeRun("w0", 2), nodeRun("w1", 3), nodeRun("answer", 4)],
  events: [
    event(1, "run.started"),
    event(2, "node.completed", "w0"),
    event(3, "node.completed", "w1"),
    event(4, "node.completed", "answer"),
    event(5, "run.completed"),
  ],
}

const acknowledged = [{ runId: "run_1", drawing }]
const journal = ["w0", "w1"].map((nodeId) => ({ runId: "run_1", nodeId, attempt: 1, pid: 7 }))

const withRun = (change: Partial<Run>): Story => ({ ...good, run: { ...good.run, ...change } })

describe("Evidence.problemsOf", () => {
  it("finds nothing wrong with what is right", () => {
    expect(problemsOf([good], acknowledged, journal, drawings)).toEqual([])
  })

  const [first, ...rest] = good.nodeRuns
  const offences: ReadonlyArray<readonly [string, ReadonlyArray<Story>, RegExp]> = [
    ["a lost run", [], /run_1 was answered for and is lost/],
    ["an open run", [withRun({ status: "RUNNING" })], /status is "RUNNING", not "COMPLETED"/],
    ["a wrong result", [withRun({ output: 99 })], /output is 99/],
    ["a wrong count of nodes", [withRun({ nodeRunCount: 4 })], /nodeRunCount is 4, not 3/],
    ["wrong credits", [withRun({ actualCredits: 1 })], /actualCredits is 1/],
    ["a wrong count of events", [withRun({ sequence: 6 })], /counts 6 of 5 events/],
    ["a missing node", [{ ...good, nodeRuns: rest }], /node w0 is not recorded/],
    ["a node twice", [{ ...good, nodeRuns: [first!, ...good.nodeRuns] }], /w0 is recorded twice/],
    ["a missing event", [{ ...good, events: good.events.toSpliced(2, 1) }], /w1 is not told/],
    [
      "an event twice",
      [{ ...good, events: good.events.toSpliced(2, 0, good.events[1]!) }],
      /numbered 1 2 2 3 4 5/,
    ],
  ]
  it.each(offences)("finds %s", (_, stories, sentence) => {
    expect(problemsOf(stories, acknowledged, [], drawings).join("\n")).toMatch(sentence)
  })

  it("finds attempts that never should have begun", () => {
    const [w0, w1] = journal
    const later = [...journal, { ...w0!, attempt: 2 }]
    expect(problemsOf([good], acknowledged, later, drawings)).toEqual([
      "run_1 w0: attempt 2 follows the recorded 1",
    ])
    expect(problemsOf([good], acknowledged, [...journal, w1!], drawings)).toEqual([
      "run_1 w1: attempt 1 began 2 times",
    ])
    expect(problemsOf([good], acknowledged, [w0!], drawings)).toEqual([
      "run_1 w1: attempt 1 is recorded and was never executed",
    ])
  })

  it("finds a run that was given out twice", () => {
    const twice = [...acknowledged, ...acknowledged]
    expect(problemsOf([good], twice, journal, drawings)).toEqual(["run_1 was given out twice"])
  })
})
