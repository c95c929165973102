/**
 * The llm node: asks a language model, at any endpoint of the OpenAI form of chat completions.
 *
 * Guarantees: the call goes through the egress guard and follows no redirect. Tokens, bytes and
 * time are bounded. With a schema, an answer that does not fit it fails the node. Leaves out:
 * streams, tools and pictures.
 */
import type { Json as JsonValue, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject, Json } from "@millrace/core/domain/Json"
import {
  messagesPerPrompt,
  modelNameLength,
  modelSeconds,
  promptLength,
  secretBytes,
  tokensPerAnswer,
} from "@millrace/core/domain/Limits"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { Answer } from "@millrace/egress/Egress"
import { Egress } from "@millrace/egress/Egress"
import { maxUrlLength } from "@millrace/egress/Policy"
import { Effect, Option, Schema } from "effect"
import { checked } from "./Checked.ts"
import { ofEgress } from "./EgressError.ts"
import { failure, problemOfStatus } from "./HttpAnswer.ts"
import { shown } from "./Shown.ts"
import { isStrict, problemOfValue, problemsOfSchema } from "./JsonSchema.ts"

const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

const Message = Schema.Struct({
  role: Schema.Literals(["system", "developer", "user", "assistant"]),
  content: Schema.String,
})

const SchemaInput = checked<JsonObject>(problemsOfSchema, {
  description: "A JSON Schema. The answer is then JSON that fits it, and comes out as value.",
  jsonSchema: { type: "object" },
})

const inputs = {
  endpoint: Schema.String.annotate({
    description: "The address of the model's interface, such as https://api.openai.com/v1.",
  }).check(
    Schema.isMaxLength(maxUrlLength),
    Schema.makeFilter((text: string) => isWebUrl(text) || "expected an http or https URL"),
  ),
  apiKey: Schema.optionalKey(
    Schema.String.annotate({ description: "Sent as a bearer token; take it from a secret." }).check(
      Schema.isMaxLength(secretBytes),
    ),
  ),
  model: Schema.String.annotate({ description: "The model's name." }).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(modelNameLength),
  ),
  prompt: Schema.optionalKey(
    Schema.String.annotate({ description: "What to ask, after the messages." }),
  ),
  messages: Schema.optionalKey(
    Schema.Array(Message)
      .check(Schema.isMaxLength(messagesPerPrompt))
      .annotate({ description: "What was said before, each with a role and a content." }),
  ),
  schema: Schema.optionalKey(SchemaInput),
  temperature: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 })).annotate({
      description: "0: always the likeliest word. Absent: what the model has by default.",
    }),
  ),
  maxTokens: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: tokensPerAnswer })).annotate({
      description: "How many tokens the answer may have.",
      default: 1_024,
    }),
  ),
  timeoutSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: modelSeconds })).annotate({
      description: "For the whole call.",
      default: 60,
    }),
  ),
}

type Inputs = Schema.Struct<typeof inputs>["Type"]

/** The address of chat completions; an endpoint may be given with or without it. */
const urlOf = (endpoint: string): string => {
  const url = new URL(endpoint)
  if (!url.pathname.endsWith("/chat/completions")) {
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`
  }
  return url.href
}

/** OpenAI itself has another name for the bound than everybody who speaks its form. */
const boundOf = (url: string, maxTokens: number): JsonObject =>
  /(?:^|\.)openai\.(?:azure\.)?com$/.test(new URL(url).hostname)
    ? { max_completion_tokens: maxTokens }
    : { max_tokens: maxTokens }

const bodyOf = (given: Inputs, url: string): JsonObject => {
  const { maxTokens = 1_024, messages = [], model, prompt, schema, temperature } = given
  const asked = prompt === undefined ? [] : [{ role: "user", content: prompt }]
  return {
    model,
    messages: [...messages, ...asked],
    stream: false,
    ...boundOf(url, maxTokens),
    ...(temperature === undefined ? {} : { temperature }),
    ...(schema === undefined
      ? {}
      : {
          response_format: {
            type: "json_schema",
            json_schema: { name: "answer", strict: isStrict(schema), schema },
          },
        }),
  }
}

const noPrompt = "expected a prompt or messages"

const problemOfPrompt = ({ messages = [], prompt }: Inputs): string | undefined => {
  if (prompt === undefined && messages.length === 0) return noPrompt
  const length = messages.reduce((sum, { content }) => sum + content.length, prompt?.length ?? 0)
  return length > promptLength ? `the prompt is longer than ${promptLength} characters` : undefined
}

const Tokens = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** What is read of an answer. */
const Completion = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      finish_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
      message: Schema.Struct({
        content: Schema.optionalKey(Schema.NullOr(Schema.String)),
        refusal: Schema.optionalKey(Schema.NullOr(Schema.String)),
      }),
    }),
  ),
  usage: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ prompt_tokens: Tokens, completion_tokens: Tokens })),
  ),
})

const completionOf = Schema.decodeUnknownOption(Completion)

const parsed = (text: string): JsonValue | undefined => {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

/** What an endpoint says of its failure, after a colon. */
const noteOf = ({ body }: Answer): string => {
  const answer = parsed(new TextDecoder().decode(body))
  const error = isJsonObject(answer) ? answer["error"] : undefined
  const text = isJsonObject(error) ? error["message"] : error
  return typeof text === "string" ? `: ${shown(text)}` : ""
}

const send = Effect.fnUntraced(function* (given: Inputs) {
  const { apiKey, endpoint, timeoutSeconds = 60 } = given
  const url = urlOf(endpoint)
  const { accountId: account, idempotencyKey } = yield* CurrentNode
  const egress = yield* Egress
  const answer = yield* egress
    .request({
      method: "POST",
      url,
      account,
      headers: {
        "content-type": "application/json",
        "user-agent": "millrace",
        "idempotency-key": idempotencyKey,
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(bodyOf(given, url)),
      timeoutMillis: timeoutSeconds * 1_000,
    })
    .pipe(Effect.mapError((error) => ofEgress(error)))
  const problem = problemOfStatus(answer, url, noteOf(answer))
  if (problem !== undefined) return yield* problem
  return answer
})

const read = Effect.fnUntraced(function* ({ body }: Answer, schema: JsonObject | undefined) {
  const completion = completionOf(parsed(new TextDecoder().decode(body)))
  if (Option.isNone(completion)) {
    return yield* failure("The answer does not have the form of chat completions", false)
  }
  const { choices, usage } = completion.value
  const [{ finish_reason: reason, message }] = choices
  if (message.refusal) return yield* failure(`The model refused: ${shown(message.refusal)}`, false)
  const text = message.content ?? ""
  const finish = reason ?? "stop"
  const { completion_tokens: output = 0, prompt_tokens: input = 0 } = usage ?? {}
  const outputs = { text, finish, usage: { input, output } }
  if (schema === undefined) return outputs
  if (finish === "length") return yield* failure("The answer is cut off: raise maxTokens", false)
  const value = parsed(text)
  if (value === undefined) return yield* failure("The answer is not JSON", true)
  const problem = problemOfValue(value, schema, "answer")
  if (problem !== undefined) return yield* failure(`The answer does not fit: ${problem}`, true)
  return { ...outputs, value }
})

/** `llm`: asks a language model. */
export const llm = define({
  key: "llm",
  effects: "writes",
  name: "Language model",
  description:
    "Asks a language model at an endpoint of the OpenAI form of chat completions. With a schema " +
    "the answer is JSON that fits it, or the node fails and may be tried again.",
  category: "network",
  icon: "bot",
  inputs,
  secrets: ["apiKey"],
  problemsOfInputs: ({ mayHave }) =>
    mayHave("prompt") || mayHave("messages") ? [] : [["prompt", noPrompt]],
  outputs: {
    text: Schema.String.annotate({ description: "The answer." }),
    value: Json.annotate({ description: "The answer as JSON, if there is a schema." }).pipe(
      Schema.optionalKey,
    ),
    finish: Schema.String.annotate({
      description: "Why the answer ended: stop, or length where it is cut off.",
    }),
    usage: Schema.Struct({ input: Schema.Int, output: Schema.Int }).annotate({
      description: "Tokens of the question and of the answer.",
    }),
  },
  example: {
    inputs: {
      endpoint: "https://api.openai.com/v1",
      apiKey: "{{ secrets.openai }}",
      model: "gpt-5-mini",
      prompt: "Which city is this letter from?",
      schema: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false,
      },
    },
    outputs: {
      text: '{"city":"Bern"}',
      value: { city: "Bern" },
      finish: "stop",
      usage: { input: 31, output: 7 },
    },
  },
  run: Effect.fnUntraced(function* (given: Inputs) {
    const problem = problemOfPrompt(given)
    if (problem !== undefined) return yield* failure(problem, false)
    return yield* read(yield* send(given), given.schema)
  }),
})
