import { describe, expect, it } from "@effect/vitest"
import { errorOutput } from "@millrace/core/domain/NodeType"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { compile } from "@millrace/core/graph/Graph"
import { Egress } from "@millrace/egress/Egress"
import { Effect, Layer, Result } from "effect"
import { builtin, layer } from "../src/Builtin.ts"
import { run, settings } from "./TestNode.ts"

const keys = [
  "request",
  "response",
  "condition",
  "switch",
  "merge",
  "delay",
  "wait_signal",
  "approval",
  "sub_workflow",
  "for_each",
  "while",
  "fail",
  "constant",
  "transform",
  "list",
  "code",
  "parse",
  "http_request",
  "email",
  "postgres_query",
  "llm",
  "note",
]

describe("Builtin.layer", () => {
  it.effect("registers every built-in type under its key", () =>
    Effect.gen(function* () {
      const types = yield* NodeTypes
      expect([...types.all().keys()]).toEqual(keys)
      for (const type of types.all().values()) expect(types.executable(type).type).toBe(type)
    }).pipe(Effect.provide(layer.pipe(Layer.provide(Egress.layer())))),
  )
})

describe("Builtin.builtin", () => {
  for (const { type } of builtin) {
    it(`tells people what ${type.key} is for, in general and port by port`, () => {
      expect(type.name).not.toBe(type.key)
      expect(type.description).toMatch(/\.$/)
      expect(["flow", "data", "network"]).toContain(type.category)
      expect(type.icon).toMatch(/^[a-z]+(-[a-z]+)*$/)
      const ports = type.portsOf(settings({}))
      expect(ports.outputs.has(errorOutput)).toBe(false)
      for (const port of [...ports.inputs.values(), ...ports.outputs.values()]) {
        expect(port.schema["description"], `${type.key}.${port.name}`).toEqual(expect.any(String))
      }
    })
  }

  it("passes input on to output when disabled, in every type that has both", () => {
    const known = new Map(builtin.map(({ type }) => [type.key, type]))
    const both = builtin
      .map(({ type }) => type)
      .filter(({ portsOf }) => {
        const { inputs, outputs } = portsOf(settings({}))
        return inputs.has("input") && outputs.has("output")
      })
    expect(both.map(({ key }) => key)).toEqual(["delay", "while", "transform", "code", "parse"])
    for (const { key } of both) {
      const drawn = { id: "n", type: key, position: { x: 0, y: 0 }, data: { disabled: true } }
      const graph = compile({ nodes: [drawn], edges: [] }, known, {})
      expect(Result.getOrThrow(graph).nodes[0]!.passThrough, key).toEqual(["input", "output"])
    }
  })

  it("has one request and one response type", () => {
    const roles = builtin.map(({ type }) => type.role).filter((role) => role !== "step")
    expect(roles).toEqual(["request", "response", "note"])
  })

  // Other servers are not called, one that fails puts nothing out, code needs an evaluator, a
  // signal has to be sent, a person asked, and an engine starts runs.
  const waiting = ["wait_signal", "approval", "sub_workflow", "for_each", "while"]
  const silent = [...waiting, "fail", "http_request"]
  const others = ["email", "postgres_query", "llm", "code"]
  const shown = builtin.filter(({ type }) => ![...silent, ...others].includes(type.key))

  it.effect.each(shown)("shows an example of $type.key that is true", (executable) =>
    Effect.gen(function* () {
      const { inputs, mode, outputs } = executable.type.example!
      const given = mode === undefined ? {} : { mode }
      expect(yield* run(executable as Executable, inputs, given)).toEqual(outputs)
    }),
  )

  it("shows an example of every type, which a start accepts", () => {
    for (const { type } of builtin) {
      const { inputs } = type.example!
      const ports = type.portsOf(settings(inputs))
      for (const [port, value] of Object.entries(inputs)) {
        expect(ports.inputs.get(port)?.check(value), `${type.key}.${port}`).toEqual([])
      }
    }
  })
})
