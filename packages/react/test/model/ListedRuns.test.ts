/**
 * A list of runs on screen is the listing, with what has happened since it was read.
 */
import type { RunItem } from "@millrace/api/PromiseClient"
import { describe, expect, it } from "vitest"
import { withChanges } from "../../src/model/ListedRuns.ts"
import { at } from "./Sample.ts"

const item = (second: number, status = "RUNNING"): RunItem =>
  ({ id: `run_${second}`, createdAt: at(second), status }) as RunItem

const shown = (changed: ReadonlyArray<RunItem>, hasMore: boolean, status?: "RUNNING") =>
  withChanges([item(3), item(2)], new Map(changed.map((each) => [each.id, each])), {
    hasMore,
    ...(status === undefined ? {} : { status }),
  }).map(({ id, status: now }) => `${id} ${now}`)

describe("withChanges", () => {
  it("has changed and new runs in their places", () => {
    expect(shown([item(4), item(2, "FAILED")], true)).toEqual([
      "run_4 RUNNING",
      "run_3 RUNNING",
      "run_2 FAILED",
    ])
  })

  it("leaves older runs to the pages that have not been read", () => {
    expect(shown([item(1)], true)).toEqual(["run_3 RUNNING", "run_2 RUNNING"])
    expect(shown([item(1)], false)).toHaveLength(3)
  })

  it("has no run that has left the wanted status", () => {
    expect(shown([item(3, "COMPLETED")], true, "RUNNING")).toEqual(["run_2 RUNNING"])
  })
})
