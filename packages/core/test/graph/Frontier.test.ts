// Which node is decided when, and how: rule by rule.
import { describe, expect, it } from "vitest"
import type { Edge, Node } from "../../src/domain/Workflow.ts"
import { Frontier } from "../../src/graph/internal/Frontier.ts"
import { advance, edges, graphOf, node, nodeRun, settle, words } from "./Fixture.ts"

const start = (
  nodes: ReadonlyArray<Node>,
  drawn: ReadonlyArray<Edge> = [],
  overrides: Parameters<typeof graphOf>[2] = {},
) => {
  const graph = graphOf(nodes, drawn, overrides)
  const frontier = Frontier.make(graph)
  return {
    graph,
    frontier,
    advance: () => advance(graph, frontier),
    settle: (...[id, output, status]: [string, Parameters<typeof settle>[3], "FAILED"?]) =>
      settle(graph, frontier, id, output, status),
    /** Why the only node that is skipped next is skipped. */
    reason: () => frontier.advance().map((each) => (each._tag === "Skip" ? each.reason : ""))[0],
    statuses: () =>
      Object.fromEntries(graph.nodes.map(({ id, index }) => [id, frontier.statusOf(index)])),
  }
}

const branch = (id = "if") => node(id, "branch", { input: 1 })

describe("Frontier.advance: order", () => {
  it("hands out all roots first, in the order of ordinals, and each only once", () => {
    const run = start([node("b", "source"), node("a", "source")])
    expect(run.advance()).toEqual(["run b", "run a"])
    expect(run.advance()).toEqual([])
    expect(run.statuses()).toEqual({ a: "RUNNING", b: "RUNNING" })
  })

  it("hands nodes out in the order of ordinals, whatever order their sources ended in", () => {
    const nodes = ["a", "b", "c", "x", "y", "z"].map((id) => node(id, "lenient"))
    const run = start(nodes, edges("a -> x", "b -> y", "c -> z"))
    run.advance()
    for (const id of ["c", "a", "b"]) run.settle(id, { output: 1 })
    expect(run.advance()).toEqual(["run x", "run y", "run z"])
  })

  it("waits for every in-edge, whatever the others brought", () => {
    const run = start(
      [node("a", "source"), node("b", "source"), node("m", "gather")],
      edges("a -> m", "b -> m"),
    )
    run.advance()
    run.settle("a", { output: 1 })
    expect(run.advance()).toEqual([])
    run.settle("b", null, "FAILED")
    expect(run.advance()).toEqual(["run m"])
  })

  it("waits for what its expressions read, also where a pinned node before it has ended", () => {
    const run = start(
      [node("a", "source"), node("pinned", "pair"), node("m", "pair", { left: "{{ a?.output }}" })],
      edges("a -> pinned.left", "pinned -> m.right"),
    )
    run.settle("pinned", { output: 1 })
    expect(run.advance()).toEqual(["run a"])
    run.settle("a", null, "FAILED")
    expect(run.advance()).toEqual(["run m"])
  })

  it("joins chains of length 1 and 5 once both have ended", () => {
    const chain = ["a", "b", "c", "d", "e"].map((id) => node(id, "lenient"))
    const drawn = edges("a -> b", "b -> c", "c -> d", "d -> e", "e -> m", "x -> m")
    const run = start([...chain, node("x", "source"), node("m", "gather")], drawn)
    expect(run.advance()).toEqual(["run a", "run x"])
    run.settle("x", { output: 0 })
    for (const id of ["a", "b", "c", "d"]) {
      run.settle(id, { output: 1 })
      expect(run.advance()).not.toContain("run m")
    }
    run.settle("e", { output: 1 })
    expect(run.advance()).toEqual(["run m"])
    run.settle("m", { output: 2 })
    expect(run.frontier.finished).toBe(true)
  })

  it("answers wave by wave when skips follow from skips", () => {
    const run = start(
      [branch(), ...["a", "b", "c", "d"].map((id) => node(id, "step")), node("e", "lenient")],
      edges("if.true -> a", "if.true -> b", "a -> c", "c -> d", "if.false -> e"),
    )
    run.advance()
    run.settle("if", { false: null })
    expect(run.advance()).toEqual(["skip a", "skip b", "run e", "skip c", "skip d"])
  })

  it("decides nothing in an empty workflow, which is finished", () => {
    const run = start([])
    expect(run.frontier.finished).toBe(true)
    expect(run.advance()).toEqual([])
  })
})

describe("Frontier.advance: skips", () => {
  it("runs the join of a diamond with one dead arm", () => {
    const run = start(
      [branch(), node("yes", "step"), node("no", "step"), node("m", "step")],
      edges("if.true -> yes", "if.false -> no", "yes -> m", "no -> m"),
    )
    run.advance()
    run.settle("if", { true: 1 })
    expect(run.advance()).toEqual(["run yes", "skip no"])
    run.settle("yes", { output: 2 })
    expect(run.advance()).toEqual(["run m"])
  })

  it("re-converges the arms of nested conditions", () => {
    const run = start(
      [branch("outer"), node("inner", "branch"), node("m", "step"), node("end", "step")],
      edges(
        "outer.true -> inner",
        "inner.true -> m",
        "inner.false -> m",
        "outer.false -> m",
        "m -> end",
      ),
    )
    run.advance()
    run.settle("outer", { true: 1 })
    expect(run.advance()).toEqual(["run inner"])
    run.settle("inner", { false: 1 })
    expect(run.advance()).toEqual(["run m"])
    run.settle("m", {})
    expect(run.advance()).toEqual(["skip end"])
    expect(run.frontier.finished).toBe(true)
  })

  it("takes an output of null as taken", () => {
    const run = start([branch(), node("a", "step")], edges("if.true -> a"))
    run.advance()
    run.settle("if", { true: null })
    expect(run.advance()).toEqual(["run a"])
  })

  it("takes an output of undefined as not taken, as it would be after a restart", () => {
    const run = start([branch(), node("a", "step")], edges("if.true -> a"))
    run.advance()
    run.settle("if", { true: undefined } as never)
    expect(run.advance()).toEqual(["skip a"])
  })

  it("takes no output for an inherited property", () => {
    const odd = [branch(), node("a", "lenient")]
    const run = start(odd, edges("if.error -> a"))
    run.advance()
    run.settle("if", Object.create({ error: 1 }) as never)
    expect(run.advance()).toEqual(["skip a"])
  })

  it("kills every out-edge of a failed and of a canceled node, whatever it left", () => {
    for (const status of ["FAILED", "CANCELED"] as const) {
      const run = start([node("a", "source"), node("b", "lenient")], edges("a -> b"))
      run.advance()
      settle(run.graph, run.frontier, "a", { output: 1 }, status)
      expect(run.frontier.outputOf(0)).toBeNull()
      expect(run.advance()).toEqual(["skip b"])
    }
  })

  it("skips a node of optional inputs when all its edges are dead", () => {
    const run = start([node("a", "source"), node("b", "lenient")], edges("a -> b"))
    run.advance()
    run.settle("a", {})
    expect(run.reason()).toBe('Skipped: no input of "b" was taken (a took no output)')
  })

  it("skips a node whose dead edges are all overridden: nobody took a way to it", () => {
    const overrides = { b: { left: 1, right: 2 } }
    const drawn = edges("a -> b.left", "a -> b.right")
    const run = start([node("a", "source"), node("b", "pair")], drawn, overrides)
    run.advance()
    run.settle("a", {})
    expect(run.advance()).toEqual(["skip b"])
  })

  it("skips a node whose required input has only dead edges, though another is live", () => {
    const run = start(
      [node("a", "source"), node("f", "source"), node("p", "pair", { left: "literal" })],
      edges("f -> p.left", "a -> p.right"),
    )
    run.advance()
    run.settle("a", { output: 1 })
    run.settle("f", null, "FAILED")
    expect(run.reason()).toBe(
      'Skipped: nothing arrived at the required input "left" of "p" (f failed)',
    )
  })

  it("names only what should have brought that input, whatever else is dead", () => {
    const run = start(
      [node("a", "source"), node("f", "source"), node("g", "source"), node("p", "pair")],
      edges("f -> p.left", "g -> p.right", "a -> p.right"),
    )
    run.advance()
    run.settle("a", { output: 1 })
    run.settle("f", null, "FAILED")
    run.settle("g", null, "FAILED")
    expect(run.reason()).toBe(
      'Skipped: nothing arrived at the required input "left" of "p" (f failed)',
    )
  })

  it("runs that node when this run overrides the input", () => {
    const run = start(
      [node("a", "source"), node("f", "source"), node("p", "pair")],
      edges("f -> p.left", "a -> p.right"),
      { p: { left: 1 } },
    )
    run.advance()
    run.settle("f", null, "FAILED")
    expect(run.advance()).toEqual([])
    run.settle("a", { output: 1 })
    expect(run.advance()).toEqual(["run p"])
  })

  it("runs a node whose optional input has only dead edges", () => {
    const run = start(
      [node("a", "source"), node("f", "source"), node("p", "pair")],
      edges("a -> p.left", "f -> p.right"),
    )
    run.advance()
    run.settle("a", { output: 1 })
    run.settle("f", null, "FAILED")
    expect(run.advance()).toEqual(["run p"])
  })

  it("skips a node that joins all its edges when one of them is dead", () => {
    const nodes = [node("a", "source"), node("f", "source"), node("j", "join")]
    const drawn = edges("a -> j", "f -> j.other")
    const run = start(nodes, drawn)
    run.advance()
    run.settle("a", { output: 1 })
    run.settle("f", {})
    expect(run.reason()).toBe('Skipped: "j" needs all of its inputs (f took no output)')
    const other = start(nodes, drawn)
    other.advance()
    other.settle("a", { output: 1 })
    other.settle("f", { output: 1 })
    expect(other.advance()).toEqual(["run j"])
  })

  it("skips a leftover, naming what it lacks, and runs a complete node without edges", () => {
    const run = start([node("left", "pair"), node("whole", "step", { input: 1 })])
    const decisions = run.frontier.advance()
    expect(words(run.graph, decisions)).toEqual(["skip left", "run whole"])
    expect(decisions[0]).toMatchObject({
      reason: 'Skipped: "left" has no edges and no value for what it requires: left',
    })
  })

  it("names at most three causes, each once, however many edges are dead", () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => `source-${at}`)
    const drawn = edges(...ids.flatMap((id) => [`${id} -> m`, `${id}.error -> m`]))
    const run = start([...ids.map((id) => node(id, "source")), node("m", "gather")], drawn)
    run.advance()
    run.settle("source-0", {})
    run.settle("source-1", null, "FAILED")
    for (const id of ids.slice(2)) settle(run.graph, run.frontier, id, null, "CANCELED")
    expect(run.reason()).toBe(
      'Skipped: no input of "m" was taken (source-0 took no output; source-1 failed; ' +
        "source-2 was canceled and 997 more)",
    )
  })

  it("names at most three ways that were taken instead", () => {
    const run = start([branch(), node("m", "gather")], edges("if.false -> m"))
    run.advance()
    run.settle("if", { a: 1, b: 2, c: 3, d: 4 })
    expect(run.reason()).toBe(
      'Skipped: no input of "m" was taken (if took "a", "b", "c" and 1 more)',
    )
  })

  it("says which way was taken instead", () => {
    const run = start(
      [branch("condition"), node("fetch", "source"), node("merge", "gather")],
      edges("condition.false -> merge", "fetch -> merge"),
    )
    run.advance()
    run.settle("condition", { true: 1 })
    run.settle("fetch", null, "FAILED")
    expect(run.reason()).toBe(
      'Skipped: no input of "merge" was taken (condition took "true"; fetch failed)',
    )
  })
})

describe("Frontier.advance: disabled nodes", () => {
  const disabled = (id: string, key: string, inputs = {}) =>
    node(id, key, inputs, { disabled: true })

  it("passes the input of a disabled middle node on, in the same call", () => {
    const run = start(
      [node("a", "source"), disabled("b", "step"), disabled("c", "step"), node("d", "step")],
      edges("a -> b", "b -> c", "c -> d"),
    )
    expect(run.advance()).toEqual(["run a"])
    run.settle("a", { output: null })
    expect(run.frontier.advance()).toEqual([
      { _tag: "Pass", index: 1, output: { output: null } },
      { _tag: "Pass", index: 2, output: { output: null } },
      { _tag: "Run", index: 3 },
    ])
    expect(run.statuses()).toEqual({ a: "COMPLETED", b: "SKIPPED", c: "SKIPPED", d: "RUNNING" })
  })

  it("kills the out-edges of a disabled node that has no single way through", () => {
    const run = start(
      [node("a", "source"), disabled("b", "branch"), node("c", "step")],
      edges("a -> b", "b.true -> c"),
    )
    run.advance()
    run.settle("a", { output: 1 })
    const decisions = run.frontier.advance()
    expect(words(run.graph, decisions)).toEqual(["skip b", "skip c"])
    expect(decisions).toMatchObject([
      { reason: 'Skipped: "b" is disabled' },
      { reason: 'Skipped: no input of "c" was taken (b is disabled)' },
    ])
  })

  it("passes on between ports of the same name, and nothing on the others", () => {
    const run = start(
      [node("a", "source"), disabled("f", "filter"), node("x", "step"), node("y", "step")],
      edges("a -> f.items", "f.items -> x", "f.rest -> y"),
    )
    run.advance()
    run.settle("a", { output: [1] })
    expect(run.advance()).toEqual(["pass f", "run x", "skip y"])
    expect(run.frontier.outputOf(1)).toEqual({ items: [1] })
  })

  it("passes input on to output whatever other ports the node has", () => {
    const run = start(
      [node("a", "source"), disabled("t", "timed", { for: 5 }), node("x", "step")],
      edges("a -> t", "t -> x"),
    )
    run.advance()
    run.settle("a", { output: 1 })
    expect(run.advance()).toEqual(["pass t", "run x"])
    expect(run.frontier.outputOf(1)).toEqual({ output: 1 })
  })

  it("passes on an array where the input takes several edges", () => {
    const run = start(
      [node("a", "source"), node("b", "source"), disabled("g", "gather"), node("x", "step")],
      edges("b -> g", "a -> g", "g -> x"),
    )
    run.advance()
    run.settle("a", { output: 1 })
    run.settle("b", { output: 2 })
    expect(run.advance()).toEqual(["pass g", "run x"])
    expect(run.frontier.outputOf(2)).toEqual({ output: [2, 1] })
  })

  it("passes on an override before what an edge carries, and a literal without edges", () => {
    const run = start(
      [node("a", "source"), disabled("b", "step"), disabled("c", "step", { input: "literal" })],
      edges("a -> b"),
      { b: { input: "override" } },
    )
    expect(run.advance()).toEqual(["run a", "pass c"])
    run.settle("a", { output: 1 })
    expect(run.advance()).toEqual(["pass b"])
    expect(run.frontier.outputOf(run.graph.indexOf.get("b")!)).toEqual({ output: "override" })
    expect(run.frontier.outputOf(run.graph.indexOf.get("c")!)).toEqual({ output: "literal" })
  })

  it("passes nothing on where nothing arrived", () => {
    const run = start([disabled("a", "step"), node("b", "lenient")], edges("a -> b"))
    expect(run.frontier.advance()).toMatchObject([
      { _tag: "Skip", reason: 'Skipped: "a" is disabled and has nothing to pass on' },
      { _tag: "Skip", reason: 'Skipped: no input of "b" was taken (a is disabled)' },
    ])
  })

  it("passes nothing on where two edges bring a value to an input that takes one", () => {
    const run = start(
      [node("a", "source"), node("b", "source"), disabled("c", "step")],
      edges("a -> c", "b -> c"),
    )
    run.advance()
    run.settle("a", { output: 1 })
    run.settle("b", { output: 2 })
    expect(run.reason()).toBe(
      'Skipped: "c" is disabled. Input "input" of "c" takes one value, ' +
        'but edges "e1" and "e2" each carry one',
    )
  })
})

describe("Frontier.settle", () => {
  it("keeps the first end of a node", () => {
    const run = start([node("a", "source"), node("b", "lenient")], edges("a -> b"))
    run.advance()
    run.settle("a", { output: 1 })
    run.settle("a", null, "FAILED")
    expect(run.statuses()["a"]).toBe("COMPLETED")
    expect(run.frontier.remaining).toBe(1)
    expect(run.frontier.finished).toBe(false)
    expect(run.advance()).toEqual(["run b"])
  })

  it("ends a node that was not handed out, and then never hands it out", () => {
    const run = start([node("a", "source"), node("b", "lenient")], edges("a -> b"))
    settle(run.graph, run.frontier, "b", null, "CANCELED")
    run.advance()
    run.settle("a", { output: 1 })
    expect(run.advance()).toEqual([])
    expect(run.frontier.finished).toBe(true)
  })

  it("refuses an end that is none", () => {
    const run = start([node("a", "source")])
    expect(() => settle(run.graph, run.frontier, "a", null, "WAITING")).toThrow(
      'Node "a" cannot end as WAITING',
    )
  })
})

describe("Frontier.restore", () => {
  const nodes = [node("a", "source"), node("b", "lenient"), node("c", "lenient")]
  const graph = graphOf(nodes, edges("a -> b", "b -> c"))

  it("counts what had ended, in any order, and decides the rest again", () => {
    const frontier = Frontier.restore(graph, [
      nodeRun(graph, 2, "PENDING", null),
      nodeRun(graph, 1, "RUNNING", null),
      nodeRun(graph, 0, "COMPLETED", { output: 1 }),
    ])
    expect(frontier.remaining).toBe(2)
    expect(frontier.outputOf(0)).toEqual({ output: 1 })
    expect(frontier.statusOf(1)).toBe("PENDING")
    expect(advance(graph, frontier)).toEqual(["run b"])
  })

  it("goes by node id, and takes no notice of nodes that it does not know", () => {
    const frontier = Frontier.restore(graph, [
      { ...nodeRun(graph, 0, "COMPLETED", { output: 1 }), ordinal: 2 },
      { ...nodeRun(graph, 0, "COMPLETED", null), nodeId: "ghost" },
    ])
    expect(advance(graph, frontier)).toEqual(["run b"])
  })

  it("keeps the edges of a skipped node live that had passed its input on", () => {
    const frontier = Frontier.restore(graph, [
      nodeRun(graph, 0, "COMPLETED", { output: 1 }),
      nodeRun(graph, 1, "SKIPPED", { output: 1 }),
    ])
    expect(advance(graph, frontier)).toEqual(["run c"])
  })

  it("decides nothing again in a finished run", () => {
    const ended = graph.nodes.map(({ index }) => nodeRun(graph, index, "COMPLETED", { output: 1 }))
    const frontier = Frontier.restore(graph, ended)
    expect(frontier.finished).toBe(true)
    expect(frontier.advance()).toEqual([])
  })
})

describe("Frontier at 10,000 nodes", () => {
  const ids = Array.from({ length: 10_000 }, (_, at) => `n${at}`)
  const nodes = ids.map((id) => node(id, "lenient"))

  it("skips a whole chain in one call", () => {
    const chain = edges(...ids.slice(1).map((id, at) => `n${at} -> ${id}`))
    const run = start(nodes, chain)
    expect(run.advance()).toEqual(["run n0"])
    run.settle("n0", null, "FAILED")
    expect(run.frontier.advance().length).toBe(9_999)
    expect(run.frontier.finished).toBe(true)
  })

  it("runs a chain node by node", () => {
    const run = start(nodes, edges(...ids.slice(1).map((id, at) => `n${at} -> ${id}`)))
    for (let at = 0; at < ids.length; at++) {
      expect(run.frontier.advance()).toEqual([{ _tag: "Run", index: at }])
      run.frontier.finish(at, "COMPLETED", { output: at })
    }
    expect(run.frontier.finished).toBe(true)
  })

  it("runs a fan out and back in", () => {
    const inner = ids.slice(1)
    const drawn = edges(...inner.flatMap((id) => [`n0 -> ${id}`, `${id} -> end`]))
    const run = start([...nodes, node("end", "gather")], drawn)
    run.advance()
    run.settle("n0", { output: 1 })
    expect(run.frontier.advance().length).toBe(9_999)
    for (const id of inner.toReversed()) run.settle(id, { output: 1 })
    expect(run.advance()).toEqual(["run end"])
  })
})
