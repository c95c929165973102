/**
 * The node types of a simulation of loops: the built-in ones that start runs, leaves that do some
 * work, and nodes that only compute what flows between them.
 *
 * Guarantees: whether a leaf fails follows from the seed, its node and its item alone, so what a
 * level comes to is known before it is played ({@link levelEndOf}).
 */
import type { Json as JsonValue, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject, Json } from "@millrace/core/domain/Json"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { builtin } from "@millrace/nodes/Builtin"
import { Effect, Schema } from "effect"
import type { Level, LoopStep, LoopWorkflow } from "./LoopScenario.ts"
import { diceFor } from "./SimBehavior.ts"
import { padding } from "./SimFlow.ts"
import type { Stage } from "./SimNodes.ts"
import { type End, request, response } from "./TreeNodes.ts"

/** Percent of the leaves that fail, of those whose first attempt does, and of long outputs. */
const [failing, stumbling, long] = [6, 6, 8]

/** What is called by an item: texts by themselves, several together. */
const textOf = (item: JsonValue): string =>
  Array.isArray(item) ? item.join("+") : (item as string)

const leafOf = (seed: number, prefix: string, item: string) => {
  const dice = diceFor(seed, `loop leaf ${prefix}${item}`)
  const fails = dice.chance(failing)
  // Some take longer than anybody's time may be over unnoticed.
  const millis = dice.chance(3) ? 90_000 : dice.of([0, 0, 1, 40, 300, 2_000, 9_000])
  // What waits for its next attempt, or has a large value, does not end at once.
  return { fails, millis, stumbles: dice.chance(stumbling), isLong: dice.chance(long) }
}

/** What a leaf puts out. */
const partOf = ({ isLong }: ReturnType<typeof leafOf>, root: string, text: string): string =>
  isLong ? `${root}: ${text}${padding}` : `${root}: ${text}`

/** True for the iteration after which a loop is done. */
const isLast = (seed: number, item: string): boolean => diceFor(seed, `last ${item}`).chance(35)

const optional = Schema.optionalKey(Json)

const leafPorts = {
  inputs: { item: Json, root: Json },
  outputs: { output: Json, item: Json },
  credits: 1,
}

const leafNode = (seed: number, key: "leaf" | "quick") =>
  define({
    ...leafPorts,
    key,
    ...(key === "quick" ? { effects: "none" } : {}),
    run: ({ item, root }) =>
      Effect.gen(function* () {
        const { attempt, nodeId } = yield* CurrentNode
        const text = textOf(item)
        const leaf = leafOf(seed, nodeId, text)
        if (key === "leaf" && leaf.millis > 0) yield* Effect.sleep(leaf.millis)
        if (leaf.fails) return yield* new NodeError({ message: `leaf ${text}`, retryable: false })
        if (leaf.stumbles && attempt === 1) return yield* new NodeError({ message: "again" })
        return { output: partOf(leaf, textOf(root), text), item: text }
      }),
  })

/** Puts out the items that follow from one. */
const spread = define({
  key: "spread",
  effects: "none",
  inputs: { item: Schema.String, count: Schema.Int },
  outputs: { output: Json },
  run: ({ count, item }) => Effect.succeed({ output: subItemsOf(item, count) }),
})

/** The item of an iteration, from the result of the one before. */
const turn = define({
  key: "turn",
  effects: "none",
  inputs: { last: Json, index: Schema.Int },
  outputs: { item: Json, base: Json },
  run: ({ index, last }) => {
    const base = (isJsonObject(last) ? last["base"] : last) as string
    return Effect.succeed({ base, item: turnOf(base, index) })
  },
})

/** Puts out what it is given as one value; of errors, only whose they are. */
const gather = define({
  key: "gather",
  effects: "none",
  inputs: {
    results: optional,
    count: optional,
    failed: optional,
    errors: Schema.optionalKey(Schema.Array(Schema.Struct({ index: Schema.Int }))),
    output: optional,
    iterations: optional,
  },
  outputs: { output: Json },
  run: ({ errors, ...rest }) => {
    const indexes = errors === undefined ? {} : { errors: errors.map(({ index }) => index) }
    return Effect.succeed({ output: sorted({ ...rest, ...indexes }) })
  },
})

/** What a level puts out: of an iteration, with what the next one begins with. */
const endNode = (seed: number) =>
  define({
    key: "end",
    effects: "none",
    inputs: { parts: Schema.Array(Json), base: Schema.optionalKey(Schema.String), item: optional },
    multiple: ["parts"],
    outputs: { output: Json },
    run: ({ base, item = null, parts }) =>
      Effect.succeed({ output: resultOf(seed, parts, textOf(item), base) }),
  })

/** The built-in types that start runs. Nothing else here needs what the others need. */
const starting = builtin.filter(({ type: { key } }) =>
  ["for_each", "while", "sub_workflow"].includes(key),
) as ReadonlyArray<unknown> as ReadonlyArray<Executable<Stage>>

/** The types of a seed. */
export const loopTypesOf = (seed: number): ReadonlyArray<Executable<Stage>> => [
  ...starting,
  request,
  response,
  leafNode(seed, "leaf"),
  leafNode(seed, "quick"),
  spread,
  turn,
  gather,
  endNode(seed),
]

/** Of objects, those with the same keys and values are the same text. */
const sorted = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const subItemsOf = (item: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => `${item}/${at}`)

const turnOf = (base: string, index: number): string => `${base}~${index}`

const resultOf = (
  seed: number,
  parts: ReadonlyArray<JsonValue>,
  item: string,
  base: string | undefined,
): JsonValue => (base === undefined ? parts : { base, done: isLast(seed, item), parts })

/** Workflows, and what ends runs of theirs from outside. */
export interface PlantedLoops {
  readonly seed: number
  readonly workflows: ReadonlyArray<LoopWorkflow>
  /** The paths of runs that somebody canceled, or whose time was over. */
  readonly broken: ReadonlySet<string>
}

/** A level of a run: where it is, and what it begins with. */
export interface LevelPlace {
  /** Unlike that of any other run. */
  readonly path: string
  readonly workflow: number
  /** The item of the run that executes the workflow. */
  readonly root: string
  readonly item: JsonValue
  /** Of an iteration. */
  readonly base?: string
}

/** The place of a child. */
export const childPath = (path: string, nodeId: string, index: number): string =>
  `${path} ${nodeId}.${index}`

/** The items of a loop, or the arrays of them. */
const groupsOf = (
  { batch, count }: Extract<LoopStep, { readonly count: number }>,
  item: string,
): ReadonlyArray<JsonValue> => {
  const all = subItemsOf(item, count)
  if (batch === null) return all
  return Array.from({ length: Math.ceil(count / batch) }, (_, at) =>
    all.slice(at * batch, (at + 1) * batch),
  )
}

/** What a loop over items comes to, if it completes; `endAt` says what its children do. */
const eachEndOf = (
  step: Extract<LoopStep, { readonly count: number }>,
  groups: ReadonlyArray<JsonValue>,
  endAt: (index: number, item: JsonValue) => End,
): JsonValue | undefined => {
  const ends = groups.map((item, index) => endAt(index, item))
  const errors = [...ends.keys()].filter((index) => ends[index] === "FAILED")
  if (errors.length > 0 && step.onError === "stop") return undefined
  const results = ends.flatMap((each) =>
    each !== "FAILED" ? [each.output] : step.onError === "drop" ? [] : [null],
  )
  return sorted({ results, count: results.length, failed: errors.length, errors })
}

/** What runs come to, and how many children each of their nodes has then. */
export class LoopOracle {
  readonly #planted: PlantedLoops
  /** By the path of a run. */
  readonly ends = new Map<string, End>()
  /** By the path of a run and the node; of nodes that have not failed. */
  readonly children = new Map<string, number>()

  constructor(planted: PlantedLoops) {
    this.#planted = planted
  }

  /** What a run of a workflow comes to. */
  endOf(path: string, workflow: number, item: JsonValue): End {
    const { level } = this.#planted.workflows[workflow]!
    return this.levelEndOf(level, { path, workflow, root: textOf(item), item })
  }

  /** What a level comes to. */
  levelEndOf(level: Level, place: LevelPlace): End {
    const end = this.#endAlone(level, place)
    const isBroken = this.#planted.broken.has(place.path)
    this.ends.set(place.path, isBroken ? "FAILED" : end)
    return isBroken ? "FAILED" : end
  }

  #endAlone(level: Level, place: LevelPlace): End {
    const { seed } = this.#planted
    const text = textOf(place.item)
    const leaf = leafOf(seed, `${level.prefix}leaf`, text)
    if (leaf.fails) return "FAILED"
    const steps = level.steps.map((step) => this.#stepEndOf(step, place, text))
    const parts = [partOf(leaf, place.root, text), ...steps.filter((step) => step !== undefined)]
    if (parts.length <= steps.length) return "FAILED"
    return { output: resultOf(seed, parts, text, place.base) }
  }

  /** What a step puts out, if it completes. */
  #stepEndOf(step: LoopStep, place: LevelPlace, text: string): JsonValue | undefined {
    const node = `${place.path} ${step.id}`
    const pathOf = (index: number) => childPath(place.path, step.id, index)
    if (step._tag === "Call") {
      this.children.set(node, 1)
      const child = this.endOf(pathOf(0), step.workflow, text)
      return child === "FAILED" ? undefined : { output: child.output }
    }
    if (step._tag === "While") return this.#whileEndOf(step, place, text)
    const groups = groupsOf(step, text)
    this.children.set(node, groups.length)
    return eachEndOf(step, groups, (index, item) =>
      step._tag === "EachRun"
        ? this.endOf(pathOf(index), step.workflow, item)
        : this.levelEndOf(step.body, { ...withoutBase(place), path: pathOf(index), item }),
    )
  }

  #whileEndOf(
    { body, id, mostIterations }: Extract<LoopStep, { readonly _tag: "While" }>,
    place: LevelPlace,
    base: string,
  ): JsonValue | undefined {
    for (let index = 0; index < mostIterations; index++) {
      const path = childPath(place.path, id, index)
      const item = turnOf(base, index)
      this.children.set(`${place.path} ${id}`, index + 1)
      const turned = this.levelEndOf(body, { ...place, path, item, base })
      if (turned === "FAILED") return undefined
      const isDone = isLast(this.#planted.seed, item)
      if (isDone) return { iterations: index + 1, output: turned.output }
    }
    return undefined
  }
}

const withoutBase = ({ base: _, ...place }: LevelPlace): LevelPlace => place
