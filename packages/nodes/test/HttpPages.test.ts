/**
 * Pages of http_request, with an evaluator that knows the expressions of these tests.
 */
import { describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { Effect } from "effect"
import { expect } from "vitest"
import { httpRequest } from "../src/internal/HttpRequest.ts"
import { clauses } from "./TestNode.ts"
import { callFailing, echo, serve } from "./TestServer.ts"

describe("next of http_request", () => {
  it("says at the start what is no expression", () => {
    const literal = (next: Json) => {
      const { inputs } = httpRequest.type.portsOf({
        inputs: {},
        mode: undefined,
        version: undefined,
        label: undefined,
        disabled: false,
      })
      return inputs.get("next")?.problemsOfLiteral?.(next)
    }
    expect(literal("{{ body.next }}")).toEqual([])
    for (const next of ["body.next", "", "{{ }}", "{{ body.next", "a {{ body.next }}"]) {
      expect(literal(next), next).toEqual(["expected one expression: {{ body.next }}"])
    }
    expect(clauses(httpRequest, "maxPages", 101)).toHaveLength(1)
  })

  it.live("is refused where there are no pages, and without an evaluator", () =>
    Effect.gen(function* () {
      const url = yield* serve(echo)
      const next = "{{ body.next }}"
      const inputs: JsonObject = { url, next }
      expect(yield* callFailing({ ...inputs, method: "POST" })).toBe("next: only GET has pages")
      expect(yield* callFailing(inputs)).toMatch(/^next: \{\{ body.next \}\}: this engine computes/)
    }),
  )
})
