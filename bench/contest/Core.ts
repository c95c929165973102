// The engine of the core over the Postgres store, as programs on Effect use it: without the front
// door, with the bounds of production.
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { Runs } from "@millrace/core/engine/Runs"
import { Postgres, Stores } from "@millrace/postgres"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { engineOn } from "../Durable.ts"
import { account, chain, fan, finished, save } from "../Workloads.ts"
import type { Contestant, Graph } from "./Contestant.ts"
import { measuring, offer } from "./Contestant.ts"

const drawings = Effect.all({
  chain: save(chain(10)),
  fan: save(fan(50)),
  single: save(chain(1)),
})

const open = async (url: string): Promise<Contestant> => {
  const stores = Layer.provide(Stores.layer, Postgres.layer({ url: Redacted.make(url) }))
  const bounds = Layer.succeed(CurrentLimits, defaultLimits)
  const runtime = ManagedRuntime.make(engineOn(stores, bounds))
  const ids = await runtime.runPromise(drawings)
  const idOf = (graph: Graph) => {
    if (graph === "pure" || graph === "slow") throw new Error(`${graph} is not measured here`)
    return ids[graph]
  }
  const measure = measuring(async (graph) => {
    const begin = Runs.use((runs) => runs.start(account, { workflowId: idOf(graph) }))
    const { id } = await runtime.runPromise(begin)
    return { ended: runtime.runPromise(finished(id)) }
  })
  return { measure, close: () => runtime.dispose() }
}

offer(open)
