/**
 * No test sleeps: `TestClock` moves the time, and an event says when something has happened.
 *
 * Holds the list of those tests that wait in real time all the same, each with its reason. A test
 * that looks again until a condition holds is one of them: what it waits for happens in another
 * process, in the system or behind a socket. Leaves out: how long they wait.
 */
import { describe, expect, it } from "vitest"
import { suites, tests } from "./Sources.ts"

const polls = "looks until something outside of the process has happened"
const kills = "kills, stops or blocks processes, and gives them time to work"

/** Beginnings of paths, and why real time passes there. */
const reasons: Readonly<Record<string, string>> = {
  "packages/core/test/engine/TestEngine.ts": "its nodes sleep, on the clock of the test",
  "packages/http/test/Harness.ts": "a node sleeps, on the clock of the test",
  "packages/millrace/test/BlockingNodes.ts": "a handler in a thread of its own waits",
  "packages/nodes/test/HttpRequest.test.ts": "a receiver answers once nobody else comes",
  "packages/postgres/test/AccountCaps.test.ts": "a node takes a moment, so that runs overlap",
  "packages/postgres/test/Admission.test.ts": "statements arrive on both sides of a minute's end",
  "packages/postgres/test/Child.ts": polls,
  "packages/postgres/test/FolderLock.test.ts": polls,
  "packages/server/test/ApiClient.ts": polls,
  "packages/server/test/Deadline.test.ts": "a client sends its body slowly, over a socket",
  "packages/server/test/Load.ts": "sends so many requests in a second",
  "packages/server/test/ServerProcess.ts": "gives up on a process that hangs",
  "packages/server/test/kill/": kills,
  "packages/webhooks/test/Receivers.test.ts": polls,
  "suites/fairness.test.ts": polls,
  "suites/sqlite": "nodes take a moment, so that a kill meets them at work",
  "suites/transactions.test.ts": kills,
  "suites/values": "nodes take a moment, so that a kill meets them at work",
  "suites/kill-": kills,
  "suites/limits.test.ts": "keeps servers under load for a while",
  "suites/secrets.test.ts": polls,
  "suites/webhooks-crash.test.ts": kills,
  "suites/webhooks.test.ts": "measures the first retry of a real clock",
}

/** What makes real time pass, where no test moves the time. */
const real = /\bsetTimeout\b|"(?:node:)?timers\/promises"/
const effectful = /\bEffect\.(?:sleep|delay)\b/
const movesTime = /"effect\/testing"/

const waiting = [...tests, ...suites]
  .filter(({ code }) => real.test(code) || (effectful.test(code) && !movesTime.test(code)))
  .map(({ path }) => path)

describe("Tests in real time", () => {
  it("are in the list, each with its reason", () => {
    const known = Object.keys(reasons)
    const found = waiting.filter((path) => !known.some((begin) => path.startsWith(begin)))
    expect(found.map((path) => `${path} waits in real time`)).toEqual([])
  })

  it("are all that the list names", () => {
    const idle = Object.keys(reasons).filter(
      (begin) => !waiting.some((path) => path.startsWith(begin)),
    )
    expect(idle).toEqual([])
  })
})
