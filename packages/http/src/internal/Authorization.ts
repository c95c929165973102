/**
 * Admitting requests: the key, its limits and the headers that tell of them (specification, parts 5
 * and 8).
 *
 * Guarantees: key and limits are one step of the store, taken before anything of the request but
 * its route is looked at; every answer that got so far carries the rate headers, errors included.
 * What the request is sure to read is asked for in the same step.
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
 * The workflow that the request names, where it came with the admission: none where the account has
 * no such workflow, `undefined` where nobody has looked yet.
 */
export const WorkflowAhead = Context.Reference<Option.Option<Workflow> | undefined>(
  "@millrace/http/WorkflowAhead",
  { defaultValue: () => undefined },
)

/** The workflow that an operation is nothing but reading; a bad identifier is refused later. */
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

/** Admits by bearer key. */
export const layer: Layer.Layer<Authorization, never, Authenticator> = Layer.effect(
  Authorization,
  makeAuthorization,
)
