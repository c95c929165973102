// Random workflows, sound ones and ones with planted faults.
import { describe, expect, it } from "@effect/vitest"
import type { JsonObject } from "../../src/domain/Json.ts"
import type { Edge, Node } from "../../src/domain/Workflow.ts"
import { graphOf, messages, node, problemsIn } from "./Fixture.ts"
import { Choice, randomWorld, seeds } from "./RandomGraph.ts"
import { Reference } from "./Reference.ts"

const many = { arbitrary: { runs: 1_000 } }

interface Planted {
  readonly nodes?: ReadonlyArray<Node>
  readonly edges?: ReadonlyArray<Edge>
  readonly overrides?: { readonly [node: string]: JsonObject }
  readonly message: string
}

/** A fault, in nodes of its own so that no other fault hides it. */
type Fault = (id: string, edge: (from: string, to: string) => Edge) => Planted

/** From a node's ports to another's, both named `id.port`. */
const edgeOf =
  (id: string) =>
  (from: string, to: string): Edge => {
    const [source, sourceHandle] = from.split("/")
    const [target, targetHandle] = to.split("/")
    return {
      id,
      source: source!,
      target: target!,
      sourceHandle: sourceHandle!,
      targetHandle: targetHandle!,
    }
  }

const own = "; a type of your own has to be among the nodes of the engine or server"

const faults: ReadonlyArray<Fault> = [
  (id) => ({ nodes: [node(id, "foo")], message: `Node "${id}": unknown type "foo"${own}` }),
  (id) => ({
    nodes: [node(id, "source", {}, { version: 3 })],
    message: `Node "${id}": unknown version 3 of type "source"; it has 1`,
  }),
  (id) => ({
    nodes: [node(id, "model", {}, { mode: "tiny" })],
    message: `Node "${id}": unknown mode "tiny" of type "model"; it has small, large`,
  }),
  (id) => ({
    nodes: [node(id, "sum", { text: "", foo: 1 })],
    message: `Node "${id}": has no input "foo"; it has text, maxWords`,
  }),
  (id) => ({
    nodes: [node(id, "sum", { maxWords: [] })],
    message: `Node "${id}": input "maxWords": Expected a number`,
  }),
  (id) => ({
    nodes: [node(id, "sum")],
    overrides: { [id]: { maxWords: "1" } },
    message: `Node "${id}": input "maxWords": Expected a number`,
  }),
  (id) => ({
    overrides: { [id]: {} },
    message: `Input overrides: the workflow has no node "${id}"`,
  }),
  (id, edge) => ({
    nodes: [node(id, "pair"), node(`${id}x`, "sink")],
    edges: [edge(`${id}/other`, `${id}x/input`)],
    message: `Node "${id}": required input "left" has neither a value nor an edge`,
  }),
  (id, edge) => ({
    nodes: [node(id, "source"), node(`${id}x`, "sink")],
    edges: [edge(`${id}/foo`, `${id}x/input`)],
    message: `Edge "${id}e": node "${id}" (type source) has no output "foo"; it has output, error`,
  }),
  (id, edge) => ({
    nodes: [node(id, "source"), node(`${id}x`, "sink")],
    edges: [edge(`${id}/output`, `${id}x/foo`)],
    message: `Edge "${id}e": node "${id}x" (type sink) has no input "foo"; it has input`,
  }),
  (id, edge) => ({
    nodes: [node(id, "source")],
    edges: [edge(`${id}/output`, `${id}x/input`)],
    message: `Edge "${id}e" ends at node "${id}x", which does not exist`,
  }),
  (id, edge) => ({
    nodes: [node(id, "lenient")],
    edges: [edge(`${id}/output`, `${id}/input`)],
    message: `Edge "${id}e" joins node "${id}" to itself`,
  }),
  (id, edge) => ({
    nodes: [node(id, "lenient"), node(`${id}x`, "lenient")],
    edges: [
      edge(`${id}/output`, `${id}x/input`),
      { ...edge(`${id}x/output`, `${id}/input`), id: `${id}f` },
    ],
    message: `The graph has a cycle: ${id} -> ${id}x -> ${id}`,
  }),
  (id) => ({
    nodes: [node(id, "source"), node(id, "source")],
    message: `The id "${id}" belongs to 2 nodes`,
  }),
]

/** A message about a cycle of two, beginning with the node that comes first by name. */
const rotated = (message: string): string =>
  message.replace(/cycle: (.+)x -> .+ -> .+$/, "cycle: $1 -> $1x -> $1")

describe("Graph.compile over random workflows", () => {
  it.prop(
    "orders nodes by depth, then position, then place",
    seeds,
    (from) => {
      const world = randomWorld(new Choice(from))
      const reference = new Reference(world)
      const graph = graphOf(world.nodes, world.edges, world.overrides)
      const expected = world.nodes
        .map(({ id, position }, place) => [
          reference.depthOf(id),
          position.x,
          position.y,
          place,
          id,
        ])
        .toSorted((a, b) => {
          const at = a.findIndex((key, index) => key !== b[index])
          return Number(a[at]) - Number(b[at])
        })
      expect(graph.nodes.map(({ id }) => id)).toEqual(expected.map((keys) => keys.at(-1)))
      for (const edge of graph.edgeIds.keys()) {
        expect(graph.edgeSource[edge]!).toBeLessThan(graph.edgeTarget[edge]!)
      }
    },
    many,
  )

  it.prop(
    "names every planted fault, and nothing else",
    seeds,
    (from) => {
      const choice = new Choice(from)
      const world = randomWorld(choice)
      const count = 1 + choice.below(5)
      const planted = Array.from({ length: count }, (_, at) =>
        choice.of(faults)(`p${at}`, edgeOf(`p${at}e`)),
      )
      const nodes = [...world.nodes, ...planted.flatMap((each) => each.nodes ?? [])]
      const edges = [...world.edges, ...planted.flatMap((each) => each.edges ?? [])]
      const overrides = Object.assign({}, world.overrides, ...planted.map((each) => each.overrides))
      const found = problemsIn(choice.shuffled(nodes), choice.shuffled(edges), overrides)
      expect(messages(found).map(rotated).toSorted()).toEqual(
        planted.map(({ message }) => message).toSorted(),
      )
    },
    many,
  )
})
