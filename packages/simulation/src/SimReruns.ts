/**
 * Asks for reruns in a play, once their runs have ended, and judges the answers.
 */
import { KeyId, type RunId } from "@millrace/core/domain/Id"
import { isTerminal, type Run } from "@millrace/core/domain/Run"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Cause, Effect, Exit } from "effect"
import type { Blow, RerunAction } from "./SimActions.ts"
import { isIdle } from "./SimRerunRules.ts"
import type { Server } from "./SimServer.ts"
import type { Machine } from "./SimTime.ts"
import { shown, type Watched } from "./SimWatched.ts"
import type { Host, World } from "./SimWorld.ts"

/** What asking for reruns needs of a play. */
export interface RerunOptions {
  readonly world: World
  readonly actions: ReadonlyArray<RerunAction>
  readonly serverNear: (
    slot: number,
  ) => { readonly host: Host; readonly server: Server } | undefined
  /** Has something done later; the play does not end before that. */
  readonly later: (millis: number, act: () => void) => void
  /** Starts that are asked for and have not been answered. */
  readonly starting: Set<string>
}

/** A type that one server does not know, and runs that have no rerun. */
const fairRefusal = /unknown type "rare"|A run of a single node has no rerun/

/** How a rerun is refused that would execute nothing. */
const idleRefusal = "Nothing has to run anew"

/** So long a request is waited for before it is made again elsewhere. */
const patienceMillis = 5_000

export class Reruns {
  readonly #options: RerunOptions
  readonly #asked = new Set<RerunAction>()
  readonly #answered = new Set<RerunAction>()
  /** What happens to machines around their next commit. */
  readonly #armed = new Map<Machine, NonNullable<RerunAction["strike"]>>()

  constructor(options: RerunOptions) {
    this.#options = options
  }

  /** A commit of a run has landed: perhaps it has ended. */
  note(id: RunId): void {
    const { actions, later, world } = this.#options
    const watched = world.witness.runs.get(id)
    if (watched === undefined || actions.length === 0) return
    const number = watched.record.run.values["run"]
    const place = [...world.witness.runs.values()]
      .filter(({ record }) => record.run.values["run"] === number)
      .indexOf(watched)
    for (const action of actions) {
      if (action.run !== number || action.place !== place || this.#asked.has(action)) continue
      if (action.delayMillis !== null && !isTerminal(watched.record.run.status)) continue
      this.#asked.add(action)
      later(action.delayMillis ?? 0, () => this.#ask(action, watched, action.server))
    }
  }

  /** What is to happen to a machine around this commit. */
  blowFor(machine: Machine, place: string): Blow | undefined {
    const armed = this.#armed.get(machine)
    if (armed?.place !== place) return undefined
    this.#armed.delete(machine)
    return armed.blow
  }

  #ask(action: RerunAction, watched: Watched, slot: number): void {
    if (this.#answered.has(action)) return
    const { later, serverNear, starting, world } = this.#options
    const found = serverNear(slot)
    if (found === undefined) return later(1_000, () => this.#ask(action, watched, slot))
    const { host, server } = found
    const { id, values, workflowId } = watched.record.run
    world.editions.ask(action.keyId, workflowId)
    world.say(() => `rerun ${action.keyId} of ${id} on ${host.machine.name}`)
    if (action.strike !== null && world.isHarsh) this.#armed.set(host.machine, action.strike)
    if (action.isNamed) later(patienceMillis, () => this.#ask(action, watched, slot + 1))
    const starts = `${host.machine.name} ${Number(values["run"])}`
    starting.add(starts)
    const wasOpen = !isTerminal(watched.record.run.status)
    // The workflow may be edited before the answer.
    const wasIdle = this.#isIdle(action, watched)
    const asked = action.isBatch
      ? this.#batch(action, watched, server)
      : this.#single(action, watched, server)
    server.run(
      Effect.map(
        Effect.exit(asked),
        Exit.match({
          onSuccess: () => {
            this.#answered.add(action)
            starting.delete(starts)
          },
          onFailure: (cause) => {
            const error = Cause.squash(cause)
            world.say(() => `rerun ${action.keyId}: ${String(error)}`)
            if (error instanceof StorageError) {
              if (action.isNamed) later(700, () => this.#ask(action, watched, slot + 1))
              return
            }
            this.#answered.add(action)
            const isIdleRefusal = wasIdle && String(error).includes(idleRefusal)
            if (!isIdleRefusal && !this.#isFair(action, watched, wasOpen, error)) {
              world.report("a rerun of what can be executed is accepted", String(error))
            }
          },
        }),
      ),
    )
  }

  /** One rerun, which must be stored once it is answered for. */
  #single(action: RerunAction, { record }: Watched, { runs }: Server) {
    const { definition, from, pinned, replaced } = action
    const { accountId, id } = record.run
    const request = { ...requestOf(action), definition, from, nodeOverrides: replaced }
    const asked = runs.rerun(
      accountId,
      id,
      { ...request, pinnedOutputs: pinned },
      action.isNamed ? { key: action.keyId, bodyHash: "the same" } : undefined,
    )
    return Effect.map(asked, ({ runId }) => this.#checkStored(action, runId, id))
  }

  /** Reruns of all that has failed: each of these has one then, or a reason why not. */
  #batch(action: RerunAction, { record }: Watched, { runs }: Server) {
    const { world } = this.#options
    const { accountId } = record.run
    const failed = Array.from(world.witness.runs.values(), (each) => each.record.run).filter(
      (run) => run.accountId === accountId && run.status === "FAILED",
    )
    const name = action.isNamed ? { key: action.keyId, bodyHash: "the same" } : undefined
    const request = { ...requestOf(action), definition: action.definition }
    return Effect.map(runs.rerunEach(accountId, failed, request, name), (batch) => {
      for (const { rerunOf, runId } of batch.started) this.#checkStored(action, runId, rerunOf)
      for (const each of batch.leftOut) {
        if (each.reason === "rerun") {
          this.#storedOf(each.rerunId, each.runId)
          continue
        }
        const failure = { _tag: "InvalidGraph", message: each.message }
        const left = world.witness.runs.get(each.runId)!
        if (this.#isFair(action, left, false, failure)) continue
        world.report("a rerun of what can be executed is accepted", each.message)
      }
      const told = batch.started.length + batch.leftOut.length
      if (!action.isNamed && told !== failed.length) {
        world.report("a batch tells of each run", `${told} of ${failed.length}`)
      }
    })
  }

  #storedOf(id: RunId, earlier: RunId): Run | undefined {
    const { world } = this.#options
    const stored = world.witness.runs.get(id)?.record.run
    if (stored?.rerunOf !== earlier) {
      world.report("a rerun that was answered for is stored", `${id}: ${shown(stored)}`)
    }
    return stored
  }

  #checkStored({ isBatch, isNamed, keyId }: RerunAction, id: RunId, earlier: RunId): void {
    const { world } = this.#options
    world.say(() => `rerun ${keyId} is ${id}`)
    const stored = this.#storedOf(id, earlier)
    // What was started since the first rerun of a named batch is of that batch, whoever started it.
    if (stored?.keyId !== keyId && !(isBatch && isNamed)) {
      world.report("a rerun is that of its request", `${id} is of ${stored?.keyId}, not ${keyId}`)
    }
  }

  /** True where nothing would be executed anew as the workflow is now. */
  #isIdle(action: RerunAction, { record }: Watched): boolean {
    const { editions } = this.#options.world
    const graph = action.definition === "same" ? record.definition : editions.currentOf(record.run)
    return isIdle(record, graph, action)
  }

  #isFair(action: RerunAction, watched: Watched, wasOpen: boolean, error: unknown): boolean {
    const { _tag: tag, message } = error as { readonly _tag?: string; readonly message: string }
    if (tag === "RunOpen") return wasOpen
    if (tag !== "InvalidGraph") return false
    if (fairRefusal.test(message)) return true
    return message.includes(idleRefusal) && this.#isIdle(action, watched)
  }
}

const requestOf = ({ keyId }: RerunAction) => ({ keyId: KeyId.make(keyId) })
