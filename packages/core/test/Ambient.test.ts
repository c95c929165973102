/**
 * What code finds without asking for it: services with a default, and what a process shares.
 *
 * A port is a required service, an argument, or a part of the manifest of a store, so that nobody
 * gets one that does nothing without saying so. Reads the sources as text. Leaves out: services
 * that the layers require; the compiler holds those.
 */
import { describe, expect, it } from "vitest"
import { offences, sources } from "./Sources.ts"

const setting = "a setting: its default is written down, and nothing acts behind it"
const request = "belongs to one request"

/** Every service with a default, and why it has one. */
const references: Readonly<Record<string, string>> = {
  "packages/core/src/domain/ApiKey.ts CurrentSecretPrefix": setting,
  "packages/core/src/domain/Limits.ts CurrentLimits": setting,
  "packages/core/src/domain/Prices.ts CurrentPrices": setting,
  "packages/core/src/engine/CurrentSecrets.ts CurrentSecrets":
    "without one, a graph that names a secret is refused: the account has none",
  "packages/core/src/engine/RunnerOptions.ts CurrentRunnerOptions": setting,
  "packages/core/src/engine/internal/ApprovalTokens.ts CurrentApprovalLinks":
    "without one, a node that writes to people fails, and says so",
  "packages/core/src/engine/internal/ApprovalTokens.ts CurrentApprovalPage": setting,
  "packages/core/src/engine/internal/ChildSource.ts CurrentChildren":
    "without one, a node that starts runs fails, and says so",
  "packages/core/src/engine/internal/CurrentValues.ts CurrentValues":
    "without one, an output that is too large fails its node, and says so",
  "packages/core/src/ports/Calendar.ts CurrentCalendar":
    "without one, a schedule with a cron text is refused, and says so",
  "packages/core/src/ports/Evaluator.ts CurrentEvaluator":
    "without one, a start of a graph with JavaScript is refused, and says so",
  "packages/host/src/internal/RunSpan.ts RunSpan": "an annotation of one span",
  "packages/http/src/Addresses.ts BasePath": setting,
  "packages/http/src/AdminAuthorization.ts AdminToken": setting,
  "packages/http/src/ConsoleSettings.ts CurrentConsole": setting,
  "packages/http/src/Dashboard.ts DashboardFiles":
    "a setting: without files there is no dashboard, and its addresses answer 404",
  "packages/http/src/Health.ts IsDraining":
    "a setting: only a server that listens is ever stopping",
  "packages/http/src/internal/RequestId.ts CurrentRequest": request,
  "packages/millrace/src/internal/testing/VirtualTime.ts OfRuns":
    "says of a fiber of a test engine that it belongs to runs; most only look for work",
  "packages/webhooks/src/Dispatcher.ts CurrentDispatcher":
    "without one nothing is being sent, so there is nothing to wait for",
  "packages/webhooks/src/DispatcherOptions.ts CurrentDispatcherOptions": setting,
}

const page = "one timer redraws all that shows time passing on a page"

const thread = "belongs to a thread, which one engine has for itself"

/** What fills up as a process runs, and why every engine in the process may share it. */
const shared: Readonly<Record<string, string>> = {
  "packages/core/src/engine/internal/ChildSource.ts readyBodies":
    "definitions of bodies, made of the body alone, the same for every engine",
  "packages/core/src/engine/internal/ComputedRun.ts triesByGraph":
    "whether runs of a graph are worth computing first: what is stored is the same",
  "packages/dashboard/src/Checkout.ts building": "one build of the app at a time, for all who wait",
  "packages/dashboard/src/index.ts kept": "files of the app as they were read, the same for all",
  "packages/http/src/DirectTransport.ts codecs": "compiled schemas, the same for every engine",
  "packages/http/src/internal/approvals/ApprovalScript.ts controls":
    "the controls of the one form on a page; no part of an engine",
  "packages/millrace/src/internal/Handler.ts declarations": "node types as they were declared",
  "packages/postgres/src/internal/CommitStatement.ts texts": "texts of statements, the same, too",
  "packages/postgres/src/internal/LeaseThread.ts hasLetGo": thread,
  "packages/postgres/src/internal/LeaseThread.ts isRenewing": thread,
  "packages/postgres/src/internal/LeaseThread.ts isTold": thread,
  "packages/postgres/src/internal/LeaseThread.ts kept": thread,
  "packages/react/src/internal/Now.ts current": page,
  "packages/react/src/internal/Now.ts listeners": page,
  "packages/react/src/internal/Now.ts timer": page,
}

const named = (pattern: RegExp) =>
  sources.flatMap(({ code, path }) =>
    Array.from(code.matchAll(pattern), ([, name]) => `${path} ${name}`),
  )

describe("A service with a default", () => {
  it("is a setting or belongs to a request, and none stands for a port", () => {
    const found = named(/^(?:export )?const (\w+)[^=\n]*= Context\.Reference\b/gm)
    expect(found.toSorted()).toEqual(Object.keys(references))
    expect(offences(sources, /Context\.Reference\b/g, (text) => text).length).toBe(found.length)
  })

  it("is not made up by whoever looks whether there is one", () => {
    expect(offences(sources, /Effect\.serviceOption\b/g, (text) => text)).toEqual([])
  })
})

describe("A process", () => {
  it("shares nothing between its engines that changes what they do", () => {
    const empty = String.raw`new (?:Weak)?(?:Map|Set)(?:<[^\n]*>)?\(\)|.*\bmakeUnsafe\(`
    const filling = named(new RegExp(`^(?:export )?const (\\w+)[^=\\n]* = (?:${empty})`, "gm"))
    const changing = named(/^(?:export )?let (\w+)/gm)
    expect([...filling, ...changing].toSorted()).toEqual(Object.keys(shared))
  })
})
