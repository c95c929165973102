/**
 * The node types of a simulation: one for every rule that a type can ask for. None of them does
 * anything by itself; what a handler does is asked of the stage that it plays on.
 */
import type { Json as JsonValue, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject, Json } from "@millrace/core/domain/Json"
import type { NodeType } from "@millrace/core/domain/NodeType"
import type { NodeSettings } from "@millrace/core/domain/Workflow"
import type { NodeError } from "@millrace/core/engine/CurrentNode"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { Context, Effect, Schema } from "effect"

/** Where handlers play: it knows which machine this is. */
export class Stage extends Context.Service<
  Stage,
  {
    readonly perform: (
      current: CurrentNode["Service"],
      inputs: JsonObject,
    ) => Effect.Effect<JsonObject, NodeError>
  }
>()("@millrace/conformance/SimNodes/Stage") {}

const optional = Schema.optionalKey(Json)
const outputs = { output: optional, alt: optional }

const play = Effect.fnUntraced(function* (inputs: object) {
  const stage = yield* Stage
  const current = yield* CurrentNode
  return yield* stage.perform(current, inputs as JsonObject)
})

/** What a literal `cases` names. */
const casesOf = ({ inputs }: NodeSettings): ReadonlyArray<string> => {
  const { cases } = inputs
  return Array.isArray(cases) ? cases.filter((each) => typeof each === "string") : []
}

const request = define({
  key: "request",
  role: "request",
  inputs: { fields: optional },
  outputs: { values: optional },
  ports: ({ inputs: { fields } }) => ({
    outputs: Array.isArray(fields)
      ? fields.flatMap((field: JsonValue) =>
          isJsonObject(field) && typeof field["name"] === "string" ? [field["name"]] : [],
        )
      : [],
  }),
  run: play,
})

const response = define({
  key: "response",
  role: "response",
  inputs: { input: optional, name: Schema.optionalKey(Schema.String) },
  outputs: {},
  run: play,
})

/** All types, those that some server does not know last. */
export const types: ReadonlyArray<Executable<Stage>> = [
  request,
  response,
  define({ key: "step", inputs: { input: optional, other: optional }, outputs, run: play }),
  define({ key: "need", inputs: { input: Json, other: optional }, outputs, credits: 2, run: play }),
  define({
    key: "many",
    inputs: { items: Schema.Array(Json), input: optional },
    multiple: ["items"],
    outputs,
    credits: 1,
    run: play,
  }),
  define({ key: "all", join: "all", inputs: { left: Json, right: Json }, outputs, run: play }),
  define({
    key: "once",
    delivery: "at-most-once",
    inputs: { input: optional },
    outputs,
    credits: 3,
    run: play,
  }),
  define({
    key: "hasty",
    inputs: { input: optional },
    outputs,
    retry: { attempts: 3, initialMillis: 200, factor: 2, jitter: 0.5 },
    timeoutMillis: 800,
    run: play,
  }),
  define({
    key: "switch",
    inputs: { input: optional, cases: optional },
    outputs: { output: optional },
    ports: (settings) => ({ outputs: casesOf(settings) }),
    run: play,
  }),
  define({
    key: "pure",
    effects: "none",
    inputs: { input: optional, other: optional },
    outputs,
    run: play,
  }),
  define({ key: "paid", effects: "none", inputs: { input: Json }, outputs, credits: 2, run: play }),
  define({
    key: "slow",
    effects: "none",
    inputs: { input: optional },
    outputs,
    credits: 1,
    timeoutMillis: 20_000,
    run: play,
  }),
  define({
    key: "use",
    inputs: { input: optional, token: Schema.optionalKey(Schema.String) },
    secrets: ["token"],
    outputs,
    run: play,
  }),
  define({ key: "rare", inputs: { input: optional }, outputs, run: play }),
]

/** Types whose handlers end as soon as they are called. */
export const instantTypes: ReadonlySet<string> = new Set(["pure", "paid"])

/** Types that not every server knows. */
export const rareTypes: ReadonlySet<string> = new Set(["rare"])

const byKey = new Map(types.map(({ type }) => [type.key, type]))

/** A type that a simulation draws. */
export const typeOf = (key: string): NodeType => byKey.get(key)!
