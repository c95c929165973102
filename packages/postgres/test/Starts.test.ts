/**
 * Starts on several servers, each of which keeps the workflows that it has started.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestPostgres from "./TestPostgres.ts"
import * as WorkflowRaces from "./WorkflowRaces.ts"

describe("Starts on several servers", () => {
  it.live("are of the workflow as it is, while it is replaced and until it is deleted", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const raced = yield* WorkflowRaces.replacements(url, { count: 1_000, engines: 3 })
      assert.deepStrictEqual(raced.contradictions, [])
      assert.deepStrictEqual(raced.late, [])
      assert.deepStrictEqual(raced.afterDeletion, [])
      assert.isAbove(raced.started, 700)
      assert.isAbove(raced.revisions, 50)
      assert.isAbove(raced.refused, 50)
    }).pipe(Effect.scoped),
  )
})
