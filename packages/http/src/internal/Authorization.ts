/**
 * Admits requests by their API keys, and adds the headers that show the keys' limits
 * (specification, parts 5 and 8).
 *
 * Guarantees: one step of the store checks key and limits, before anything but the route of the
 * request is read. Every answer to a request with a good key has the rate headers, also an error.
 * If the operation only reads a workflow, the same step reads it.
 */
import { Authorization, CurrentKey } from "@millrace/api/Authorization"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { Option } from "effect"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Authenticator, rateHeadersOf } from "./Authenticator.ts"
import { addHeaders, refuse } from "../Errors.ts"

/**
 * The workflow of the request, if it came with the admission. None: the account has no such
 * workflow. `undefined`: it was not read.
 */
export const WorkflowAhead = Context.Reference<Option.Option<Workflow> | undefined>(
  "@millrace/http/WorkflowAhead",
  { defaultValue: () => undefined },
)

/** The workflow that the operation reads, if it does nothing else. */
const aheadOf = (
  group: HttpApiGroup.Top,
  endpoint: HttpApiEndpoint.Top,
  id: string | undefined,
): WorkflowId | undefined =>
  group.identifier === "workflows" && endpoint.identifier === "get" && id
    ? WorkflowId.make(id)
    : undefined

const makeAuthorization = Effect.map(Authenticator, (authenticator) =>
  Authorization.of({
    apiKey: Effect.fnUntraced(function* (operation, { credential, endpoint, group }) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { params } = yield* HttpRouter.RouteContext
      const ahead = aheadOf(group, endpoint, params["id"])
      const decision = yield* Effect.catch(authenticator.ask(request, credential, ahead), refuse)
      if (decision._tag === "Refused") return yield* refuse(decision.refusal)
      yield* addHeaders(rateHeadersOf(decision.window))
      if (decision._tag === "Limited") return yield* refuse(decision.refusal)
      const { accountId, keyId, workflow } = decision
      return yield* operation.pipe(
        Effect.provideService(WorkflowAhead, workflow),
        Effect.provideService(CurrentKey, { accountId, keyId }),
      )
    }),
  }),
)

/** Admits requests by the API key in `Authorization`. */
export const layer: Layer.Layer<Authorization, never, Authenticator> = Layer.effect(
  Authorization,
  makeAuthorization,
)
