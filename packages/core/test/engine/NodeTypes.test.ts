// The node types of a process, and the graphs that it compiles with them.
import { graphsCached } from "@millrace/core/domain/Limits"
import type { Definition } from "@millrace/core/domain/Run"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import { define } from "@millrace/core/engine/NodeDefinition"
import { exportedTypes } from "@millrace/core/engine/NodeModule"
import { form, mark, NodeTypes, NodeTypeSet, withOrigin } from "@millrace/core/engine/NodeTypes"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, References, Result, Schema } from "effect"
import { node } from "./TestEngine.ts"

const typed = (key: string) =>
  define({
    key,
    inputs: { input: Schema.optionalKey(Schema.Any) },
    outputs: {},
    run: () => Effect.succeed({}),
  })

const [a, b] = [typed("a"), typed("b")]

class Tool extends Context.Service<Tool, string>()("test/Tool") {}

describe("NodeTypes", () => {
  it.effect("knows what it was given, in that order, and nothing else", () =>
    Effect.gen(function* () {
      const { all, executable } = yield* NodeTypes
      assert.deepStrictEqual(
        Array.from(all().values(), ({ key }) => key),
        ["b", "a"],
      )
      assert.strictEqual(all().get("a"), a.type)
      assert.strictEqual(executable(a.type), a)
      assert.isUndefined(all().get("c"))
    }).pipe(Effect.provide(NodeTypes.layer(b, a))),
  )

  it.effect("cannot be built with two types of one key", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(NodeTypes.layer(a, typed("a")))))
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        assert.include(Cause.pretty(exit.cause), 'Two node types have the key "a"')
      }
    }),
  )

  it.effect("finds the handler of a type that was replaced, for runs that have it", () => {
    const set = new NodeTypeSet([a])
    return Effect.gen(function* () {
      const types = yield* NodeTypes
      const before = types.all()
      const other = typed("a")
      set.replace([other, b])
      assert.notStrictEqual(types.all(), before)
      assert.strictEqual(types.all().get("a"), other.type)
      assert.strictEqual(types.executable(other.type), other)
      assert.strictEqual(types.executable(a.type), a)
      assert.throws(() => set.replace([a, other]), 'Two node types have the key "a"')
      assert.strictEqual(types.all().get("b"), b.type)
    }).pipe(Effect.provide(NodeTypes.layerOf(set)))
  })

  it.effect("keeps what its handlers need, and one logger of its own", () =>
    Effect.gen(function* () {
      const { context } = yield* NodeTypes
      assert.strictEqual(Context.getUnsafe(context, Tool), "hammer")
      const loggers = Context.get(context as Context.Context<never>, References.CurrentLoggers)
      assert.strictEqual(loggers.size, 1)
    }).pipe(
      Effect.provide(NodeTypes.layer(a).pipe(Layer.provideMerge(Layer.succeed(Tool, "hammer")))),
    ),
  )
})

describe("NodeModule.exportedTypes", () => {
  it("finds each type once: alone, in an array, and in what defineNode returns", () => {
    const held = { type: "b", executable: b }
    const found = exportedTypes({ default: [a, held], a, helper: () => a, nothing: null, text: "" })
    assert.deepStrictEqual(found, { types: [a, b], hasOtherForm: false })
  })

  it("knows a type by its mark, and no object that only looks like one", () => {
    const { [mark]: _, ...unmarked } = a
    const copy = { ...unmarked, [mark]: form }
    assert.deepStrictEqual(exportedTypes({ copy, unmarked }).types, [copy])
  })

  it("tells of a type with another form", () => {
    const later = { ...a, [mark]: form + 1 }
    assert.deepStrictEqual(exportedTypes({ later, b }), { types: [b], hasOtherForm: true })
  })
})

describe("NodeTypes.withOrigin", () => {
  it("says where a type is from, and changes nothing else", () => {
    const marked = withOrigin("./a.js")(a)
    assert.deepStrictEqual(marked, { ...a, type: { ...a.type, origin: "./a.js" } })
  })
})

describe("GraphCache", () => {
  const definition = (id: string, literal: object = {}): Definition => ({
    id: `${id}@1`,
    nodes: [node("n", "a", { input: literal as never })],
    edges: [],
    settings: {},
  })
  const cache = Effect.provide(GraphCache.layer.pipe(Layer.provide(NodeTypes.layer(a, b))))

  it.effect("compiles a definition once, by its identifier", () =>
    Effect.gen(function* () {
      const { compile } = yield* GraphCache
      const first = compile(definition("d"), {})
      assert.isTrue(Result.isSuccess(first))
      assert.strictEqual(compile(definition("d"), {}), first)
      assert.notStrictEqual(compile(definition("e"), {}), first)
    }).pipe(cache),
  )

  it.effect("compiles a definition again once the node types were replaced", () => {
    const set = new NodeTypeSet([a])
    return Effect.gen(function* () {
      const { compile } = yield* GraphCache
      const first = compile(definition("d"), {})
      const other = typed("a")
      set.replace([other])
      const second = Result.getOrThrow(compile(definition("d"), {}))
      assert.strictEqual(second.nodes[0]?.type, other.type)
      assert.strictEqual(Result.getOrThrow(first).nodes[0]?.type, a.type)
    }).pipe(Effect.provide(Layer.provide(GraphCache.layer, NodeTypes.layerOf(set))))
  })

  it.effect("compiles values of one run for that run alone", () =>
    Effect.gen(function* () {
      const { compile } = yield* GraphCache
      const overrides = { n: { input: 7 } }
      const own = Result.getOrThrow(compile(definition("d"), overrides))
      assert.deepStrictEqual(own.nodes[0]?.settings.inputs, { input: 7 })
      const shared = Result.getOrThrow(compile(definition("d"), {}))
      assert.deepStrictEqual(shared.nodes[0]?.settings.inputs, { input: {} })
      assert.notStrictEqual(
        compile(definition("d"), overrides),
        compile(definition("d"), overrides),
      )
    }).pipe(cache),
  )

  it.effect("freezes the literals, so that no run changes what another one gets", () =>
    Effect.gen(function* () {
      const { compile } = yield* GraphCache
      const [drawn] = Result.getOrThrow(compile(definition("d", { deep: [1] }), {})).nodes
      const literal = drawn!.settings.inputs["input"] as { readonly deep: ReadonlyArray<number> }
      assert.isTrue(Object.isFrozen(literal.deep))
    }).pipe(cache),
  )

  it.effect("forgets what was not used for long, and keeps what is used", () =>
    Effect.gen(function* () {
      const { compile } = yield* GraphCache
      const used = compile(definition("used"), {})
      const idle = compile(definition("idle"), {})
      for (let n = 0; n < 2 * graphsCached; n++) {
        compile(definition(`d${n}`), {})
        assert.strictEqual(compile(definition("used"), {}), used)
      }
      assert.notStrictEqual(compile(definition("idle"), {}), idle)
    }).pipe(cache),
  )

  it.effect("keeps the problems of a definition that cannot be compiled", () =>
    Effect.gen(function* () {
      const { compile } = yield* GraphCache
      const wrong = { ...definition("d"), nodes: [node("n", "unknown")] }
      const first = compile(wrong, {})
      assert.isTrue(Result.isFailure(first))
      assert.strictEqual(compile(wrong, {}), first)
    }).pipe(cache),
  )
})
