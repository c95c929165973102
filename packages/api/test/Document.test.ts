/**
 * The OpenAPI document says what the interface does.
 */
import { assert, describe, it } from "@effect/vitest"
import { Api } from "@millrace/api/Api"
import { OpenApi } from "effect/http-api"

const document = OpenApi.fromApi(Api)
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
      "GET /api/v1/deliveries/{id}",
      "GET /api/v1/node-types",
      "GET /api/v1/runs",
      "GET /api/v1/runs/{id}",
      "GET /api/v1/runs/{id}/deliveries",
      "GET /api/v1/workflows",
      "GET /api/v1/workflows/{id}",
      "PATCH /api/v1/workflows/{id}",
      "POST /api/v1/deliveries/{id}/redeliver",
      "POST /api/v1/runs",
      "POST /api/v1/runs/batch",
      "POST /api/v1/runs/{id}/cancel",
      "POST /api/v1/workflows",
      "POST /api/v1/workflows/{id}/duplicate",
      "POST /api/v1/workflows/{id}/nodes",
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
        assert.deepStrictEqual(
          content,
          { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
          `${name} ${status}`,
        )
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
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
      ])
    }
  })

  it("has a summary and a description of every operation", () => {
    for (const [name, { description, summary }] of operations) {
      assert.isNotEmpty(summary ?? "", name)
      assert.isNotEmpty(description ?? "", name)
    }
  })

  it("says 201 where something is made, 204 where it is removed, else 200", () => {
    const successOf = ({ responses }: Operation) =>
      Object.keys(responses).filter((status) => status < "300")
    const made = ["", "/{id}/duplicate", "/{id}/nodes"].map((path) => `/api/v1/workflows${path}`)
    for (const [name, each] of operations) {
      const [method = "", path = ""] = name.split(" ")
      const isNew = method === "POST" && [...made, "/api/v1/runs"].includes(path)
      const expected = isNew ? "201" : method === "DELETE" ? "204" : "200"
      assert.deepStrictEqual(successOf(each), [expected], name)
    }
  })

  it("describes the numbers of a listing as integers with their bounds", () => {
    const { parameters } = operation("GET /api/v1/runs")
    const schemas = new Map(parameters.map(({ name, schema }) => [name, schema]))
    assert.deepStrictEqual(
      [...schemas.keys()],
      ["workflowId", "status", "cursor", "limit", "page", "pageSize", "search"],
    )
    assert.deepStrictEqual(schemas.get("limit"), {
      type: "integer",
      minimum: 1,
      maximum: 50,
      default: 20,
    })
    assert.deepInclude(schemas.get("page"), { maximum: 9_007_199_254_740_991 })
  })

  it("lets answers gain fields", () => {
    assert.notInclude(JSON.stringify(document), '"additionalProperties":false')
  })
})
