/**
 * What a viewer is shown of a run: its nodes' progress, summaries, single nodes and its graph.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Runs } from "@millrace/core/engine/Runs"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { chain, create, endless, finish, hello, large, start } from "./Samples.ts"

const at = (x: number) => ({ x, y: 0 })

const get = Effect.fnUntraced(function* ({ key }: Tenant, path: string) {
  const { send } = yield* Harness
  return yield* send("GET", `/api/v1/runs/${path}`, { key })
})

const begin = Effect.fnUntraced(function* (content: object) {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  return { owner, workflowId: yield* create(owner, content) }
})

/** A run that does not end by itself, for as long as `use` takes. */
const withOpen = <A, E, R>(
  content: object,
  rest: object,
  use: (owner: Tenant, id: string, workflowId: string) => Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const { owner, workflowId } = yield* begin(content)
    const id = yield* start(owner, workflowId, rest)
    const runs = yield* Runs
    yield* TestClock.adjust(0)
    const cancel = Effect.ignore(runs.cancel(owner.accountId, id))
    return yield* Effect.ensuring(use(owner, id, workflowId), cancel)
  })

const text = { value: "{{ say.output }}!" }

/** The second node takes what the first one puts out, and holds it. */
const holding = {
  name: "Holding",
  nodes: [
    { id: "say", type: "echo", position: at(0), data: { inputs: { text: "one two" } } },
    { id: "hold", type: "hold", position: at(360), data: { inputs: { text: text.value } } },
  ],
  edges: [{ id: "e1", source: "say", target: "hold" }],
}

/** The first node fails and is tried again after a minute; the second hears of the failure. */
const retried = {
  name: "Retried",
  nodes: [
    {
      id: "bad",
      type: "broken",
      position: at(0),
      data: { retry: { attempts: 2, initial: 60_000, jitter: 0 } },
    },
    { id: "after", type: "echo", position: at(360) },
  ],
  edges: [{ id: "e1", source: "bad", target: "after", sourceHandle: "error" }],
}

const failing = {
  name: "Skipping",
  nodes: [
    { id: "say", type: "echo", position: at(0), data: { inputs: { text: "x" } } },
    { id: "off", type: "hang", position: at(360), data: { disabled: true } },
  ],
  edges: [],
}

layer(Harness.layer)("viewing runs", (it) => {
  describe("the nodes of a run", () => {
    it.effect("have the number of their attempt and what they cost", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(chain)
        const { body } = yield* get(owner, yield* finish(owner, workflowId))
        const [say, count] = body.nodeRuns
        assert.deepInclude(say, { attempt: 1, credits: 0.25, dueAt: null, skipReason: null })
        assert.deepInclude(count, { attempt: 1, credits: 0, dueAt: null, skipReason: null })
      }),
    )

    it.effect("say when they go on, if they wait", () =>
      withOpen(retried, {}, (owner, id) =>
        Effect.gen(function* () {
          const { body } = yield* get(owner, id)
          const [bad, after] = body.nodeRuns
          assert.deepInclude(bad, { status: "WAITING", attempt: 1 })
          assert.strictEqual(Date.parse(bad.dueAt) - Date.parse(bad.startedAt), 60_000)
          assert.deepInclude(after, { status: "PENDING", attempt: 0, dueAt: null })
        }),
      ),
    )

    it.effect("say why they were skipped", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(failing)
        const { body } = yield* get(owner, yield* finish(owner, workflowId))
        const reasons = body.nodeRuns.map(({ skipReason }: { skipReason: string }) => skipReason)
        assert.deepStrictEqual(reasons, [null, '"off" is disabled'])
      }),
    )
  })

  describe("GET /v1/runs/{id}?view=summary", () => {
    it.effect("has the sizes of what it leaves out, with those of large values", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(chain)
        for (const rest of [{ values: { a: "ä" } }, large]) {
          const id = yield* finish(owner, workflowId, rest)
          const whole = (yield* get(owner, id)).body
          const { body, status, text: sent } = yield* get(owner, `${id}?view=summary`)
          assert.strictEqual(status, 200)
          assert.isBelow(sent.length, 3_000)
          const sizeOf = (value: unknown) =>
            value === null ? 0 : new TextEncoder().encode(JSON.stringify(value)).length
          const { values, output } = whole.context
          assert.deepStrictEqual(body.sizes, { values: sizeOf(values), output: sizeOf(output) })
          assert.isNull(body.context)
          for (const [n, { largeValues: _, ...row }] of whole.nodeRuns.entries()) {
            const sizes = {
              input: sizeOf(row.input),
              output: sizeOf(row.output),
              logs: sizeOf(row.logs),
            }
            const left = { input: null, output: null, logs: null }
            assert.deepStrictEqual(body.nodeRuns[n], { ...row, ...left, sizes })
          }
          const { context: _, nodeRuns: __, ...item } = whole
          assert.deepInclude(body as object, item)
        }
      }),
    )

    it.effect("says why nodes were skipped", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(failing)
        const id = yield* finish(owner, workflowId)
        const { body } = yield* get(owner, `${id}?view=summary`)
        assert.strictEqual(body.nodeRuns[1].skipReason, '"off" is disabled')
      }),
    )

    it.effect("is the only view that can be asked for", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const id = yield* finish(owner, workflowId)
        for (const query of ["view=whole", "view=", "view=summary&view=summary"]) {
          const { body, status } = yield* get(owner, `${id}?${query}`)
          assert.strictEqual(status, 400)
          assert.match(body.error, /^view: expected "summary"/)
        }
      }),
    )
  })

  describe("GET /v1/runs/{id}/nodes/{nodeId}", () => {
    it.effect("answers what the run says of the node", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(chain)
        for (const rest of [{}, large]) {
          const id = yield* finish(owner, workflowId, rest)
          const { nodeRuns } = (yield* get(owner, id)).body
          for (const each of nodeRuns) {
            const { body, status } = yield* get(owner, `${id}/nodes/${each.nodeId}`)
            assert.strictEqual(status, 200)
            assert.deepStrictEqual(body, each)
          }
        }
      }),
    )

    it.effect("gives a running node the input that edges and literals imply", () =>
      withOpen(holding, {}, (owner, id) =>
        Effect.gen(function* () {
          const { body } = yield* get(owner, `${id}/nodes/hold`)
          assert.deepInclude(body, { status: "RUNNING", attempt: 1, output: null })
          // The expression is not computed for a viewer.
          assert.deepStrictEqual(body.input, { input: "one two" })
          assert.isNull((yield* get(owner, id)).body.nodeRuns[1].input)
        }),
      ),
    )

    it.effect("gives a running node its large values and overrides, too", () => {
      const { say } = large.graphInputOverrides
      const graphInputOverrides = { say, hold: { text: "now" } }
      return withOpen(holding, { graphInputOverrides }, (owner, id) =>
        Effect.gen(function* () {
          const { body } = yield* get(owner, `${id}/nodes/hold`)
          assert.deepStrictEqual(body.input, { input: say.text, text: "now" })
          assert.deepStrictEqual(
            body.largeValues.map((each: { readonly at: string }) => each.at),
            ["/input/input"],
          )
        }),
      )
    })

    it.effect("gives a node that was not reached no input", () =>
      withOpen(retried, {}, (owner, id) =>
        Effect.gen(function* () {
          assert.isNull((yield* get(owner, `${id}/nodes/after`)).body.input)
          assert.deepStrictEqual((yield* get(owner, `${id}/nodes/bad`)).body.input, {})
        }),
      ),
    )

    it.effect("knows nodes by any name that a user can draw", () =>
      Effect.gen(function* () {
        for (const name of ["a:b", "a.b-c_d", "...", "x".repeat(128)]) {
          const node = { ...hello.nodes[0], id: name }
          const { owner, workflowId } = yield* begin({ name: "Names", nodes: [node] })
          const id = yield* finish(owner, workflowId)
          const { body, status } = yield* get(owner, `${id}/nodes/${encodeURIComponent(name)}`)
          assert.deepStrictEqual([status, body.nodeId], [200, name])
        }
      }),
    )

    it.effect("answers 404 for an unknown node, and for an unknown run", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const id = yield* finish(owner, workflowId)
        const unknown = yield* get(owner, `${id}/nodes/nobody`)
        assert.strictEqual(unknown.status, 404)
        assert.deepStrictEqual(unknown.body, { error: "The run has no such node" })
        assert.strictEqual(unknown.headers.get("x-error-code"), "node_not_found")
        const { headers, status } = yield* get(owner, "run_none/nodes/say")
        assert.deepStrictEqual([status, headers.get("x-error-code")], [404, "run_not_found"])
      }),
    )
  })

  describe("GET /v1/runs/{id}/definition", () => {
    it.effect("is the graph of the start with its ports, when the workflow is gone", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { owner, workflowId } = yield* begin(chain)
        const other = { ...chain.nodes[0], data: { inputs: { text: "replaced" } } }
        const viewport = { x: 1, y: 2, zoom: 0.5 }
        const id = yield* finish(owner, workflowId, { nodeOverrides: [other], viewport })
        const before = yield* get(owner, `${id}/definition`)
        yield* send("DELETE", `/api/v1/workflows/${workflowId}`, { key: owner.key })
        const { body, status } = yield* get(owner, `${id}/definition`)
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(body, before.body)
        const { nodes, edges, ports, ...rest } = body
        assert.deepStrictEqual(rest, {
          workflowId,
          workflowName: "Chain",
          workflowRevision: 1,
          viewport,
          settings: {},
        })
        const versioned = (node: { readonly data: object }) => ({
          ...node,
          data: { ...node.data, version: 1 },
        })
        assert.deepStrictEqual(nodes, [other, chain.nodes[1]!].map(versioned))
        assert.deepStrictEqual(edges, chain.edges)
        type Ports = Record<"inputPorts" | "outputPorts", ReadonlyArray<{ name: string }>>
        const named = (found: ReadonlyArray<Ports & { nodeId: string }>) =>
          found.map(({ inputPorts, nodeId, outputPorts }) => [
            nodeId,
            inputPorts.map(({ name }) => name).join(" "),
            outputPorts.map(({ name }) => name).join(" "),
          ])
        assert.deepStrictEqual(named(ports), [
          ["say", "input text", "output error"],
          ["count", "text", "count error"],
        ])
      }),
    )

    it.effect("answers 404 for an unknown run", () =>
      withOpen(endless, {}, (owner) =>
        Effect.gen(function* () {
          const { body, status } = yield* get(owner, "run_none/definition")
          assert.deepStrictEqual([status, body], [404, { error: "The run does not exist" }])
        }),
      ),
    )
  })
})
