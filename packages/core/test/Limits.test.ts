/**
 * The bounds of the system: whatever is called or checked as a bound has its name in `Limits.ts`.
 *
 * Reads names and checks as text. Leaves out: lengths of time, and a bound that is neither called
 * one nor checked by a schema; people find those.
 */
import { describe, expect, it } from "vitest"
import { offences, sources } from "./Sources.ts"

const limits = [
  "packages/core/src/domain/Limits.ts",
  "packages/core/src/domain/internal/ListingLimits.ts",
  "packages/core/src/domain/internal/MessageLimits.ts",
  "packages/core/src/domain/internal/NodeLimits.ts",
  "packages/core/src/domain/internal/SessionLimits.ts",
  "packages/core/src/domain/internal/StartLimits.ts",
  "packages/core/src/domain/internal/TriggerLimits.ts",
]

/** Numbers that are called bounds and stand elsewhere, each for its reason. */
const elsewhere: { readonly [place: string]: string } = {
  "packages/api/src/PlainJson.ts mostLevels":
    "a client for promises loads nothing of Effect for it",
  "packages/api/src/internal/PromiseRuns.ts longestTimer": "what a timer of JavaScript can wait",
  "packages/core/src/domain/Nearest.ts longestGuessed": "what a guess may cost; refuses nothing",
  "packages/core/src/engine/internal/RunValues.ts mostBytesPerCharacter": "a fact of JSON in UTF-8",
  "packages/core/src/engine/internal/WorkflowChanges.ts toldAtOnce": "when others have their turn",
  "packages/egress/src/Headers.ts maxHeaderLength": "egress knows nothing of core",
  "packages/egress/src/Headers.ts maxHeaders": "egress knows nothing of core",
  "packages/egress/src/Policy.ts maxUrlLength": "egress knows nothing of core",
  "packages/egress/src/internal/Connection.ts maxHeaderBytes": "egress knows nothing of core",
  "packages/millrace/src/internal/testing/TestHost.ts mostMoves": "what a test gives up after",
  "packages/postgres/src/internal/ClaimStatement.ts dueAtOnce": "the size of one statement",
  "packages/postgres/src/internal/ExpiredRows.ts removedAtOnce": "the size of one statement",
  "packages/postgres/src/internal/KeyChanges.ts changesAtOnce": "the size of one statement",
  "packages/postgres/src/internal/LedgerStore.ts linesPerPage": "the size of one statement",
  "packages/react/src/model/LiveRun.ts movesKept": "what a page keeps in memory",
  "packages/react/src/model/editing/internal/History.ts stepsKept": "what a page keeps in memory",
  "packages/server/src/internal/config/LimitVariables.ts most": "what an integer of 32 bits holds",
  "packages/server/src/internal/dev/StartupReport.ts countedAtMost": "what a banner counts",
  "packages/sqlite/src/internal/IdempotencyKeys.ts removedAtOnce": "the size of one statement",
  "packages/webhooks/src/Dispatcher.ts forgetLimit": "the size of one statement",
  "packages/webhooks/src/DispatcherStep.ts claimLimit": "the size of one statement",
}

const published = sources.filter(
  ({ path }) => !limits.includes(path) && !/^packages\/(?:conformance|simulation)\//.test(path),
)

describe("Limits", () => {
  it("holds every number that is called a bound", () => {
    const words = "(?:max|most|longest|deepest)(?:[A-Z]\\w*)?"
    const ends = "\\w+(?:AtOnce|AtMost|Limit|Listed|Kept|Known|PerPage)"
    const name = `(?!\\w+Millis\\b)(${words}|${ends})`
    const called = new RegExp(`^(?:export )?const ${name} = [\\d_ *]+(?:- 1)?$`, "gm")
    const found = published.flatMap(({ code, path }) =>
      Array.from(code.matchAll(called), ([, name]) => `${path} ${name}`),
    )
    expect(found.toSorted()).toEqual(Object.keys(elsewhere))
  })

  it("holds every number that a schema checks as the most of something", () => {
    const checked = /(?:isAtMost|isMax\w+|isLessThan\w*)\([\d_]+|maximum: [\d_]{2,}/g
    expect(offences(published, checked, (text) => text)).toEqual([])
  })
})
