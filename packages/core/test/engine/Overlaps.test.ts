// What becomes of a time of a schedule while an earlier run of it goes on.
import type { RunId } from "@millrace/core/domain/Id"
import type { Run, RunStatus } from "@millrace/core/domain/Run"
import type { Schedule } from "@millrace/core/domain/Trigger"
import { runIdAt } from "@millrace/core/domain/Trigger"
import { describe, expect, it } from "vitest"
import { decideOverlap, runsToCheck } from "../../src/engine/internal/Overlaps.ts"
import { newRun } from "./PlayedRun.ts"
import { minute, scheduleWith } from "./TestSchedules.ts"

const { id } = scheduleWith()
const [before, first, second, third] = [0, 10, 20, 30].map((at) => runIdAt(id, at * minute)) as [
  RunId,
  RunId,
  RunId,
  RunId,
]
const runIds = [first, second, third]

const runWith = (runId: RunId, status: RunStatus = "RUNNING"): Run => ({
  ...newRun,
  id: runId,
  status,
})

const after = (overlap: Schedule["overlap"], lastRunId: RunId | null = before) =>
  scheduleWith({ overlap, lastRunId })

const decide = (
  overlap: Schedule["overlap"],
  runs: ReadonlyArray<Run>,
  runId = first,
  lastRunId: RunId | null = before,
) => decideOverlap(after(overlap, lastRunId), runId, { runIds, runs })

const kinds = ["skip", "queue", "cancelOther"] as const

describe("runsToCheck", () => {
  it("are the last run and those of all times that are looked at", () => {
    for (const overlap of kinds) {
      expect(runsToCheck(after(overlap), first, runIds)).toEqual([before, ...runIds])
      expect(runsToCheck(after(overlap, null), first, runIds)).toEqual(runIds)
      expect(runsToCheck(after(overlap, first), first, runIds)).toEqual(runIds)
    }
  })

  it("are none where runs may overlap, or where there is no run but that of the time", () => {
    expect(runsToCheck(after("allow"), first, runIds)).toEqual([])
    expect(runsToCheck(after("skip", null), first, [first])).toEqual([])
    expect(runsToCheck(after("skip", before), first, [first])).toEqual([before, first])
    expect(runsToCheck(after("skip", null), first, [second])).toEqual([second])
  })
})

describe("decideOverlap", () => {
  it("starts where runs may overlap, and where all before have ended", () => {
    expect(decide("allow", [runWith(before)])).toEqual({ _tag: "Start" })
    for (const overlap of kinds) {
      expect(decide(overlap, [])).toEqual({ _tag: "Start" })
      for (const status of ["COMPLETED", "FAILED", "CANCELED"] as const) {
        expect(decide(overlap, [runWith(before, status)])).toEqual({ _tag: "Start" })
      }
    }
  })

  it("skips, waits or cancels while a run is open, also one that is still queued", () => {
    for (const status of ["RUNNING", "QUEUED"] as const) {
      const open = [runWith(before, status)]
      expect(decide("skip", open)).toEqual({ _tag: "Skip", runId: before })
      expect(decide("queue", open)).toEqual({ _tag: "Wait", runId: before })
      expect(decide("cancelOther", open)).toEqual({ _tag: "Cancel", runIds: [before] })
    }
    const both = [runWith(before), runWith(first)]
    const canceled = { _tag: "Cancel", runIds: [before, first] }
    expect(decide("cancelOther", both, second)).toEqual(canceled)
  })

  it("changes nothing about a time that has its run", () => {
    for (const overlap of kinds) {
      expect(decide(overlap, [runWith(before), runWith(first)])).toEqual({ _tag: "Start" })
    }
  })

  it("skips a time that was given up: one behind which a later time has a run", () => {
    for (const overlap of kinds) {
      const ended = [runWith(second, "COMPLETED")]
      expect(decide(overlap, ended)).toEqual({ _tag: "Skip", runId: before })
      expect(decide(overlap, ended, first, null)).toEqual({ _tag: "Skip", runId: second })
      expect(decide(overlap, [runWith(third)])).toEqual({ _tag: "Skip", runId: third })
      expect(decide(overlap, [runWith(first, "COMPLETED")], second)).toEqual({ _tag: "Start" })
    }
  })
})
