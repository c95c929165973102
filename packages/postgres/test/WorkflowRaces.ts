/**
 * Starts of a workflow that is replaced and deleted meanwhile, over several engines on one
 * database, each of which keeps what it has started.
 *
 * Guarantees: each content of the workflow has a name that no other has, so that a run tells what
 * it was made of. Leaves out: any assertion.
 */
import { Samples } from "@millrace/conformance"
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Context, Effect, Option, type Redacted } from "effect"
import * as StartRaces from "./StartRaces.ts"

type Engine = Effect.Success<ReturnType<typeof StartRaces.engine>>

const contentOf = (name: string) => {
  const nodes = [{ id: name, type: "paid", position: { x: 0, y: 0 } }]
  return { name, description: null, thumbnailUrl: null, nodes, edges: [] }
}

/** What is known of the workflow: what each revision says, and which ones were answered for. */
class Known {
  readonly names = new Map<number, string>()
  latest = 0
  deleted = false

  learn(revision: number, name: string): void {
    this.names.set(revision, name)
    this.latest = Math.max(this.latest, revision)
  }
}

/** A start, and what was known when it began. */
interface Started {
  readonly known: number
  readonly run: Run | undefined
  readonly deleted: boolean
}

interface Race {
  readonly engines: ReadonlyArray<Engine>
  readonly account: AccountId
  readonly workflowId: WorkflowId
  readonly known: Known
}

const replace = Effect.fnUntraced(function* (
  { account, engines, known, workflowId }: Race,
  n: number,
) {
  const name = `content_${n}`
  const workflows = Context.get(engines[n % engines.length]!, Workflows)
  const { revision } = yield* workflows.update(account, workflowId, contentOf(name))
  known.learn(revision, name)
})

const remove = Effect.fnUntraced(function* ({ account, engines, known, workflowId }: Race) {
  yield* Context.get(engines[0]!, Workflows).remove(account, workflowId)
  known.deleted = true
})

const start = Effect.fnUntraced(function* (
  race: Race,
  n: number,
): Effect.fn.Return<Started, unknown> {
  const { account, engines, known, workflowId } = race
  const runs = Context.get(engines[n % engines.length]!, Runs)
  const before = { known: known.latest, deleted: known.deleted }
  const started = Effect.asSome(runs.start(account, { workflowId }))
  const run = yield* Effect.catchTag(started, "WorkflowNotFound", () => Effect.succeedNone)
  return { ...before, run: Option.getOrUndefined(run) }
})

const begin = Effect.fnUntraced(function* (url: Redacted.Redacted, count: number) {
  const engines = yield* Effect.forEach(Array.from({ length: count }), () => StartRaces.engine(url))
  const { account } = yield* Samples.make
  const known = new Known()
  const { id, revision } = yield* Context.get(engines[0]!, Workflows).create(
    account,
    contentOf("first"),
  )
  known.learn(revision, "first")
  return { engines, account, workflowId: id, known } satisfies Race
})

/** The names in which a run is known to have been made of something else than its revision. */
const contradictionsOf = Effect.fnUntraced(function* (
  { engines, known }: Race,
  { accountId, id }: Run,
) {
  const store = Context.get(engines[0]!, RunStore)
  const { definition, run } = yield* Effect.flatMap(store.find(accountId, id), Effect.fromOption)
  const name = known.names.get(run.workflowRevision)
  const told = [run.workflowName, ...definition.nodes.map((node) => node.id)]
  return told.filter((each) => each !== name)
})

/** So many starts, among which the workflow is replaced again and again and deleted at last. */
export const replacements = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  { count, engines }: { readonly count: number; readonly engines: number },
) {
  const race = yield* begin(url, engines)
  const all: Array<Started> = []
  const last = Math.floor(count * 0.9)
  yield* Effect.forEach(
    Array.from({ length: count }, (_, n) => n),
    (n) => {
      if (n === last) return remove(race)
      if (n % 8 === 5 && n < last - 30) return replace(race, n)
      return Effect.map(start(race, n), (started) => all.push(started))
    },
    { concurrency: 12 },
  )
  const runs = all.flatMap(({ run }) => (run === undefined ? [] : [run]))
  const contradictions = yield* Effect.forEach(runs, (run) => contradictionsOf(race, run))
  return {
    started: runs.length,
    revisions: new Set(runs.map(({ workflowRevision }) => workflowRevision)).size,
    contradictions: contradictions.flat(),
    late: all.filter(({ known, run }) => run !== undefined && run.workflowRevision < known),
    afterDeletion: all.filter(({ deleted, run }) => deleted && run !== undefined),
    refused: all.filter(({ run }) => run === undefined).length,
  }
})
