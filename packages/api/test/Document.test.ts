/**
 * The OpenAPI document says what the interface does.
 */
import { assert, describe, it } from "@effect/vitest"
import { Api } from "@millrace/api/Api"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Ajv2020 } from "ajv/dist/2020.js"
import { OpenApi } from "effect/http-api"

const document = OpenApi.fromApi(
  Api.annotate(OpenApi.Servers, [{ url: "https://millrace.example" }]),
)
type Operation = OpenApi.OpenAPISpecOperation
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Operation>).map(
    ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
  ),
)

const operation = (name: string): Operation => {
  const found = operations.find(([each]) => each === name)
  if (found === undefined) throw new Error(`no operation ${name}`)
  return found[1]
}

describe("the OpenAPI document", () => {
  it("has exactly the operations of the interface", () => {
    assert.deepStrictEqual(operations.map(([name]) => name).toSorted(), [
      "DELETE /api/v1/workflows/{id}",
      "DELETE /api/v1/workflows/{id}/triggers/{triggerId}",
      "DELETE /api/v1/workflows/{id}/triggers/{triggerId}/test",
      "GET /api/v1/approvals",
      "GET /api/v1/deliveries",
      "GET /api/v1/deliveries/{id}",
      "GET /api/v1/node-types",
      "GET /api/v1/runs",
      "GET /api/v1/runs/live",
      "GET /api/v1/runs/{id}",
      "GET /api/v1/runs/{id}/approvals/{nodeId}",
      "GET /api/v1/runs/{id}/definition",
      "GET /api/v1/runs/{id}/deliveries",
      "GET /api/v1/runs/{id}/events",
      "GET /api/v1/runs/{id}/nodes/{nodeId}",
      "GET /api/v1/runs/{id}/nodes/{nodeId}/items",
      "GET /api/v1/runs/{id}/values/{valueId}",
      "GET /api/v1/triggers/pause",
      "GET /api/v1/usage",
      "GET /api/v1/workflows",
      "GET /api/v1/workflows/{id}",
      "GET /api/v1/workflows/{id}/live",
      "GET /api/v1/workflows/{id}/triggers",
      "GET /api/v1/workflows/{id}/triggers/{triggerId}",
      "GET /api/v1/workflows/{id}/triggers/{triggerId}/test",
      "GET /api/v1/workflows/{id}/versions",
      "GET /api/v1/workflows/{id}/versions/{version}",
      "GET /api/v1/workflows/{id}/versions/{version}/difference",
      "PATCH /api/v1/workflows/{id}",
      "PATCH /api/v1/workflows/{id}/triggers/{triggerId}",
      "POST /api/v1/deliveries/redeliver-failed",
      "POST /api/v1/deliveries/{id}/redeliver",
      "POST /api/v1/runs",
      "POST /api/v1/runs/batch",
      "POST /api/v1/runs/estimate",
      "POST /api/v1/runs/rerun-failed",
      "POST /api/v1/runs/{id}/approvals/{nodeId}/decide",
      "POST /api/v1/runs/{id}/approvals/{nodeId}/link",
      "POST /api/v1/runs/{id}/cancel",
      "POST /api/v1/runs/{id}/rerun",
      "POST /api/v1/runs/{id}/rerun/plan",
      "POST /api/v1/runs/{id}/signals/{name}",
      "POST /api/v1/triggers/pause",
      "POST /api/v1/triggers/resume",
      "POST /api/v1/workflows",
      "POST /api/v1/workflows/{id}/duplicate",
      "POST /api/v1/workflows/{id}/evaluate",
      "POST /api/v1/workflows/{id}/nodes",
      "POST /api/v1/workflows/{id}/publish",
      "POST /api/v1/workflows/{id}/signals/{name}",
      "POST /api/v1/workflows/{id}/triggers",
      "POST /api/v1/workflows/{id}/triggers/{triggerId}/address",
      "POST /api/v1/workflows/{id}/triggers/{triggerId}/test",
      "POST /api/v1/workflows/{id}/unpublish",
      "POST /api/v1/workflows/{id}/validate",
      "POST /api/v1/workflows/{id}/versions/{version}/restore",
    ])
  })

  it("has only `error` in the body of every error", () => {
    assert.deepStrictEqual(document.components.schemas["Error"], {
      type: "object",
      properties: { error: { type: "string", description: "One sentence." } },
      required: ["error"],
    })
    for (const [name, { responses }] of operations) {
      const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400)
      for (const [status, { content }] of errors) {
        const media: object = content?.["application/json"] ?? {}
        const { example, schema } = media as { example: object; schema: object }
        assert.deepStrictEqual(schema, { $ref: "#/components/schemas/Error" }, `${name} ${status}`)
        assert.hasAllKeys(example, ["error"], `${name} ${status}`)
      }
    }
  })

  it("refers to no schema that is not there", () => {
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)
    for (const [, name] of references) {
      assert.isDefined(document.components.schemas[name ?? ""], name)
    }
  })

  it("asks every operation for a key and says 401, 429 and 503 of it", () => {
    for (const [name, { responses, security }] of operations) {
      assert.deepStrictEqual(security, [{ apiKey: [] }], name)
      assert.includeMembers(Object.keys(responses), ["400", "401", "429", "500", "503"], name)
      assert.hasAllKeys(responses["429"]?.headers, [
        "Retry-After",
        "X-Error-Code",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "X-Request-Id",
      ])
    }
  })

  it("has a summary and a description of every operation", () => {
    for (const [name, { description, summary }] of operations) {
      assert.isNotEmpty(summary ?? "", name)
      assert.isNotEmpty(description ?? "", name)
    }
  })

  it("says 201 where something is made, 202 where sent, 204 where removed, else 200", () => {
    const successOf = ({ responses }: Operation) =>
      Object.keys(responses).filter((status) => status < "300")
    const makes = ["", "/{id}/duplicate", "/{id}/nodes", "/{id}/triggers"]
    const drawn = makes.map((path) => `/api/v1/workflows${path}`)
    const made = [...drawn, "/api/v1/runs", "/api/v1/runs/{id}/rerun"]
    for (const [name, each] of operations) {
      const [method = "", path = ""] = name.split(" ")
      const isNew = method === "POST" && made.includes(path)
      const isSent = path.includes("/signals/")
      const done = method === "DELETE" ? "204" : "200"
      const expected = isNew ? "201" : isSent ? "202" : done
      const isStream = path.endsWith("/events")
      assert.deepStrictEqual(successOf(each), isStream ? ["200", "204"] : [expected], name)
    }
  })

  it("describes the numbers of a listing as integers with their bounds", () => {
    const { parameters } = operation("GET /api/v1/runs")
    const schemas = new Map(parameters.map(({ name, schema }) => [name, schema]))
    assert.deepStrictEqual(
      [...schemas.keys()],
      [
        ..."workflowId status source triggerId parent roots from to".split(" "),
        ..."cursor limit page pageSize search".split(" "),
      ],
    )
    assert.deepStrictEqual(schemas.get("limit"), {
      type: "integer",
      minimum: 1,
      maximum: 50,
      default: 20,
    })
    assert.deepInclude(schemas.get("page"), { maximum: 9_007_199_254_740_991 })
  })

  it("has nothing that a linter minds", async () => {
    const config = await createConfig({ extends: ["recommended-strict"] })
    const problems = await lintFromString({ source: JSON.stringify(document), config })
    assert.deepStrictEqual(
      problems.map(({ location, message }) => `${location[0]?.pointer}: ${message}`),
      [],
    )
  })

  it("has an example of every body, which fits its schema", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ $id: "document", components: document.components })
    const fits = (schema: object, example: unknown, what: string) => {
      assert.isDefined(example, what)
      const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components')
      const validate = ajv.compile(JSON.parse(text) as object)
      assert.isTrue(validate(example), `${what}: ${ajv.errorsText(validate.errors)}`)
    }
    let count = 0
    for (const [name, { requestBody, responses }] of operations) {
      const bodies = [["request", requestBody] as const, ...Object.entries(responses)]
      for (const [what, body] of bodies) {
        for (const media of Object.values(body?.content ?? {})) {
          const { example, schema } = media as { example: unknown; schema: object }
          fits(schema, example, `${name} ${what}`)
          count += 1
        }
      }
    }
    assert.isAbove(count, 100)
  })

  it("refers to no header that is not there, and leaves none unused", () => {
    const { headers } = document.components as { readonly headers?: object }
    const references = JSON.stringify(document).matchAll(/"#\/components\/headers\/([\w-]+)"/g)
    const used = new Set(Array.from(references, ([, name]) => name))
    assert.sameMembers([...used], Object.keys(headers ?? {}))
  })

  it("lets answers gain fields", () => {
    assert.notInclude(JSON.stringify(document), '"additionalProperties":false')
  })
})
