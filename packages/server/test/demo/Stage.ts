/**
 * The example workflows in this process: the real engine over memory stores, and a real server for
 * the orders.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type { Account } from "@millrace/core/domain/Account"
import type { JsonObject } from "@millrace/core/domain/Json"
import type { RunRecord } from "@millrace/core/domain/Run"
import type { WorkflowContent } from "@millrace/core/domain/Workflow"
import * as Engine from "@millrace/core/engine/Engine"
import { Keys } from "@millrace/core/engine/Keys"
import type { StartRequest } from "@millrace/core/engine/Runs"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import * as Stores from "@millrace/memory/Stores"
import * as Builtin from "@millrace/nodes/Builtin"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import * as Orders from "../../src/internal/demo/Orders.ts"
import * as Listener from "../../src/internal/serve/Listener.ts"
import * as OwnAddress from "../../src/internal/serve/OwnAddress.ts"

/** Runs workflows from beginning to end. */
export class Stage extends Context.Service<
  Stage,
  {
    readonly account: Account
    readonly run: (
      content: WorkflowContent,
      request?: Omit<StartRequest, "workflowId">,
    ) => Effect.Effect<RunRecord>
  }
>()("@millrace/server/test/Stage") {}

const make = Effect.gen(function* () {
  const account = yield* (yield* Keys).createAccount("stage")
  const workflows = yield* Workflows
  const runs = yield* Runs
  return Stage.of({
    account,
    run: (content, request = {}) =>
      Effect.gen(function* () {
        const workflow = yield* workflows.create(account.id, content)
        const started = yield* runs.start(account.id, { ...request, workflowId: workflow.id })
        return yield* runs.wait(account.id, started.id)
      }).pipe(Effect.orDie),
  })
}).pipe(Effect.orDie)

/** The stage, with everything it stands on. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const listener = yield* Listener.open("127.0.0.1", 0)
    yield* listener.ready
    return HttpRouter.serve(Orders.layer, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(Layer.effect(Stage, make)),
      Layer.provideMerge(Engine.layerWithoutWebhooks),
      Layer.provide(Builtin.layer),
      Layer.provide(OwnAddress.layer(listener.address, [])),
      Layer.provideMerge(Stores.layer),
      Layer.provide(NodeHttpServer.layerHttpServices),
      Layer.provide(Layer.succeed(HttpServer.HttpServer, listener.server)),
    )
  }),
)

/** What became of each node. */
export const statusesOf = ({ nodeRuns }: RunRecord): JsonObject =>
  Object.fromEntries(nodeRuns.map(({ nodeId, status }) => [nodeId, status]))
