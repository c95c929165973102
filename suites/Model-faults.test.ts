/**
 * What gives the model weight: stores in memory with a fault are told from it.
 */
import { assert, describe, it } from "@effect/vitest"
import { differenceOf } from "@millrace/simulation/ModelSuite"
import * as StoreModel from "@millrace/simulation/StoreModel"
import { Stores } from "@millrace/memory"
import { Effect, Layer } from "effect"

/** Good stores, of which something is changed. */
const faulty = (change: (good: StoreModel.Stores) => Partial<StoreModel.Stores>) =>
  Layer.effectContext(
    Effect.map(StoreModel.current, (good) => StoreModel.contextOf({ ...good, ...change(good) })),
  ).pipe(Layer.provide(Stores.layer))

const faults = {
  "claims one run more than it was asked for": faulty(({ runs }) => ({
    runs: { ...runs, claim: (request) => runs.claim({ ...request, limit: request.limit + 1 }) },
  })),
  "takes stale commits for done": faulty(({ runs }) => ({
    runs: { ...runs, commit: (commit) => Effect.ignore(runs.commit(commit)) },
  })),
  "forgets node runs": faulty(({ runs }) => ({
    runs: { ...runs, commit: (commit) => runs.commit({ ...commit, nodeRuns: [] }) },
  })),
  "keeps the old rows of nodes that waited": faulty(({ runs }) => ({
    runs: { ...runs, commit: (commit) => runs.commit({ ...commit, rewritten: [] }) },
  })),
  "starts workflows that have changed": faulty(({ runs }) => ({
    runs: {
      ...runs,
      commit: ({ expected, ...rest }) =>
        runs.commit({
          ...rest,
          expected: expected._tag === "New" ? { ...expected, isCurrent: false } : expected,
        }),
    },
  })),
  "parks no run": faulty(({ runs }) => ({
    runs: {
      ...runs,
      commit: (commit) => runs.commit({ ...commit, run: { ...commit.run, dueAt: null } }),
    },
  })),
  "parks a run in spite of a message that its commit did not see": faulty(({ runs }) => ({
    runs: { ...runs, commit: ({ seen: _, ...rest }) => runs.commit(rest) },
  })),
  "gives a message to a second node": faulty(({ runs }) => ({
    runs: { ...runs, commit: ({ taken: _, ...rest }) => runs.commit(rest) },
  })),
  "loses what a commit sends": faulty(({ runs }) => ({
    runs: { ...runs, commit: ({ messages: _, ...rest }) => runs.commit(rest) },
  })),
  "starts only the first run of a commit": faulty(({ runs }) => ({
    runs: {
      ...runs,
      commit: ({ starts = [], ...rest }) => runs.commit({ ...rest, starts: starts.slice(0, 1) }),
    },
  })),
  "appends a message as often as it is sent": faulty(({ runs }) => {
    let count = 0
    return {
      runs: {
        ...runs,
        send: (account, id, message) =>
          runs.send(account, id, { ...message, id: `${message.id} ${(count += 1)}` }),
      },
    }
  }),
  "forgets what nodes have taken": faulty(({ runs }) => ({
    runs: {
      ...runs,
      inboxes: (requests) => runs.inboxes(requests.map((each) => ({ ...each, held: [] }))),
    },
  })),
  "begins every turn with the same account": faulty(({ runs }) => ({
    runs: { ...runs, claim: (request) => runs.claim({ ...request, after: undefined }) },
  })),
  "claims what was excepted": faulty(({ runs }) => ({
    runs: { ...runs, claim: (request) => runs.claim({ ...request, except: [] }) },
  })),
  "knows no cap per account": faulty(({ runs }) => ({
    runs: { ...runs, claim: (request) => runs.claim({ ...request, runsPerAccount: undefined }) },
  })),
  "knows no cap per workflow": faulty(({ runs }) => ({
    runs: { ...runs, claim: (request) => runs.claim({ ...request, runsPerWorkflow: undefined }) },
  })),
  "forgets the latest output of a node": faulty(({ runs }) => ({
    runs: {
      ...runs,
      latestOutputs: (account, workflow, nodes) =>
        runs.latestOutputs(account, workflow, nodes.slice(1)),
    },
  })),
  "keeps no lease": faulty(({ runs }) => ({
    runs: { ...runs, heartbeat: (runner) => runs.heartbeat(runner, 0) },
  })),
  "moves no credits": faulty(({ runs }) => ({
    runs: { ...runs, commit: (commit) => runs.commit({ ...commit, credits: [] }) },
  })),
  "makes a grant as often as it is asked to": faulty(({ ledger }) => ({
    ledger: {
      ...ledger,
      grant: (request) =>
        Effect.andThen(
          ledger.grant({ ...request, id: `${request.id}-once-more` }),
          ledger.grant(request),
        ),
    },
  })),
  "skips nothing": faulty(({ runs }) => ({
    runs: { ...runs, list: (query) => runs.list({ ...query, skip: 0 }) },
  })),
  "replaces whatever revision there is": faulty(({ workflows }) => ({
    workflows: {
      ...workflows,
      replace: (workflow, revision) => Effect.as(workflows.replace(workflow, revision), "replaced"),
    },
  })),
  "knows no limit on live keys": faulty(({ keys }) => ({
    keys: {
      ...keys,
      insert: (key, hash) =>
        Effect.catchTag(keys.insert(key, hash), "TooManyKeys", () => Effect.void),
    },
  })),
  "counts every request twice": faulty(({ keys }) => ({
    keys: { ...keys, admit: (hash) => Effect.andThen(keys.admit(hash), keys.admit(hash)) },
  })),
}

describe("differenceOf", () => {
  for (const [fault, stores] of Object.entries(faults)) {
    it.effect(`tells a store that ${fault} from a good one`, () =>
      Effect.gen(function* () {
        const report = yield* differenceOf(stores, { seeds: 500 })
        assert.match(report ?? "", /^seed=\d+ step=\d+ command=\{.*\}\nat answer[.:]/)
        assert.match(report ?? "", /MODEL_SEED=\d+$/)
      }),
    )
  }
})
