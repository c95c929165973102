/**
 * Plays a scenario again and again, with a crash at another commit each time, and tells what
 * differs.
 *
 * Guarantees: every play has an engine of its own. Leaves out: crashes of the test's own code.
 */
import { invalid } from "@millrace/api/MillraceError"
import type { RunItem } from "../../Client.ts"
import type { NodeType } from "../../Node.ts"
import { picture } from "./Picture.ts"
import type { TestEngine, TestOptions } from "./TestEngine.ts"
import { openTestEngine } from "./TestEngine.ts"
import type { Recorded } from "./Mock.ts"

type Types = ReadonlyArray<NodeType>

/** What a handler has done to the outside world, as JSON: `effect({ charge: 500, key })`. */
export type Effect = (what: unknown) => void

/** The result of {@link whatIf}. */
export interface WhatIf {
  /** How many commits the scenario makes without a crash. */
  readonly commits: number
  /** How many crashes were tried: before each commit, and after it. */
  readonly crashes: number
  /** What a crash changes, a sentence for each; empty if nothing. */
  readonly problems: ReadonlyArray<string>
}

/** Where a play crashes. */
interface CrashPoint {
  readonly commit: number
  readonly side: "before" | "after"
}

/** What came of a play. */
interface Played {
  readonly commits: number
  /** False: there was no such crash point. */
  readonly isHit: boolean
  /** The runs as pictures, and what the scenario returned. */
  readonly ending: string
  readonly calls: ReadonlyArray<readonly [type: string, calls: ReadonlyArray<Recorded>]>
}

/** Names of runs that are the same in every play: by their order, and by who has started them. */
const namesOf = (items: ReadonlyArray<RunItem>): ReadonlyArray<readonly [string, string]> => {
  const roots = items.filter(({ parent }) => parent === undefined).map(({ id }) => id)
  const byId = new Map(items.map((item) => [item.id, item]))
  const nameOf = ({ id, parent }: RunItem): string =>
    parent === undefined
      ? `<run ${roots.indexOf(id) + 1}>`
      : `${nameOf(byId.get(parent.runId)!)} ${parent.nodeId} <child ${parent.index}>`
  return items
    .map((item) => [item.id, nameOf(item)] as const)
    .toSorted(([, one], [, other]) => (one < other ? -1 : 1))
}

const play = async <N extends Types>(
  prepare: (effect: Effect) => TestOptions<N>,
  scenario: (engine: TestEngine<N>) => Promise<unknown>,
  point: CrashPoint | undefined,
): Promise<Played> => {
  let effect: Effect = () => undefined
  const options = prepare((what) => effect(what))
  const { engine, handlers, host } = await openTestEngine(options)
  try {
    effect = (what) => handlers.effect(what)
    const hit = host.crashAt(point)
    const returned = await scenario(engine)
    await engine.clock.runToEnd()
    const items: Array<RunItem> = []
    for await (const item of engine.runs.list({ roots: "false" })) items.unshift(item)
    const names = namesOf(items)
    const runs = await Promise.all(
      names.map(async ([id, name]) => `${name} ${picture(await engine.runs.get(id))}`),
    )
    const told = returned === undefined ? [] : [`the scenario returns ${JSON.stringify(returned)}`]
    // Every play has other identifiers.
    const ending = names.reduce(
      (text, [id, name]) => text.replaceAll(id, name),
      [...runs, ...told].join("\n"),
    )
    return { ...hit(), ending, calls: handlers.all }
  } finally {
    await engine.close()
  }
}

const doneBy = ({ effects, inputs }: Recorded): string =>
  JSON.stringify(effects === undefined ? inputs : effects)

/** Handlers that were called again although they had not failed, and did something else then. */
const repeatsOf = ({ calls }: Played): ReadonlyArray<string> =>
  calls.flatMap(([type, all]) =>
    [...Map.groupBy(all, ({ nodeId, runId }) => `${runId} ${nodeId}`).values()].flatMap((same) => {
      const [first, ...later] = same.filter(({ error }) => error === undefined)
      const other = first && later.find((call) => doneBy(call) !== doneBy(first))
      if (first === undefined || other === undefined) return []
      return [
        `node "${first.nodeId}" (${type}) was called twice, and its effects differ: first ` +
          `${doneBy(first)}, then ${doneBy(other)}`,
      ]
    }),
  )

/**
 * Plays a scenario once without a crash, and then once for each crash point: before and after every
 * commit. After a crash a new process continues at once. A problem is an ending that differs, or a
 * handler that was called again and had other effects than the first time. `prepare` is called for
 * each play, so that nothing is left of the play before; handlers and mocks tell their effects with
 * the function that it gets, else the inputs of a handler count as its effects.
 *
 * ```ts
 * const { problems } = await whatIf(
 *   (effect) => ({ nodes: [charge], mocks: { "pay.charge": (call) => bank(call, effect) } }),
 *   async (engine) => {
 *     await engine.runs.start({ workflowId: await deploy(engine) })
 *     await engine.clock.runToEnd()
 *   },
 * )
 * expect(problems).toEqual([])
 * ```
 */
export const whatIf = async <const N extends Types>(
  prepare: (effect: Effect) => TestOptions<N>,
  scenario: (engine: TestEngine<N>) => Promise<unknown>,
): Promise<WhatIf> => {
  const usual = await play(prepare, scenario, undefined)
  const again = await play(prepare, scenario, undefined)
  if (usual.ending !== again.ending) {
    throw invalid(
      `whatIf: the scenario ends differently without any crash: first\n${usual.ending}\nthen\n` +
        again.ending,
    )
  }
  const problems: Array<string> = []
  let crashes = 0
  for (let commit = 1; commit <= usual.commits; commit++) {
    for (const side of ["before", "after"] as const) {
      const crashed = await play(prepare, scenario, { commit, side })
      if (!crashed.isHit) continue
      crashes += 1
      const found = [...repeatsOf(crashed)]
      if (crashed.ending !== usual.ending) {
        found.push(`it ends differently:\n${crashed.ending}\ninstead of\n${usual.ending}`)
      }
      problems.push(...found.map((each) => `a crash ${side} commit ${commit}: ${each}`))
    }
  }
  return { commits: usual.commits, crashes, problems }
}
