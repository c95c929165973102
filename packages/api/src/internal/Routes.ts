/**
 * Method and path of the operations below `/api/v1`, for code that must not load the definition of
 * the API. The compiler compares them with the definition.
 */
import type { Api } from "../Api.ts"
import type { ConsoleApi } from "../ConsoleApi.ts"
import type { OperationName } from "../Transport.ts"

type Groups = (typeof Api)["groups"]

type EndpointOf<O extends OperationName> = O extends `${infer G}.${infer N}`
  ? G extends keyof Groups
    ? N extends keyof Groups[G]["endpoints"]
      ? Groups[G]["endpoints"][N]
      : never
    : never
  : never

type PathOf<P> = P extends `/api/v1${infer Rest}` | `/api/console/v1${infer Rest}`
  ? Rest extends `${infer Start}/`
    ? Start
    : Rest
  : never

type RouteOf<E> = E extends { readonly method: infer M extends string; readonly path: infer P }
  ? `${M} ${PathOf<P>}`
  : never

/** Method and path of every operation. */
export const routes: { readonly [O in OperationName]: RouteOf<EndpointOf<O>> } = {
  "workflows.list": "GET /workflows",
  "workflows.create": "POST /workflows",
  "workflows.get": "GET /workflows/:id",
  "workflows.update": "PATCH /workflows/:id",
  "workflows.remove": "DELETE /workflows/:id",
  "workflows.duplicate": "POST /workflows/:id/duplicate",
  "workflows.addNode": "POST /workflows/:id/nodes",
  "workflows.validate": "POST /workflows/:id/validate",
  "workflows.evaluate": "POST /workflows/:id/evaluate",
  "workflows.signal": "POST /workflows/:id/signals/:name",
  "workflows.live": "GET /workflows/:id/live",
  "workflows.publish": "POST /workflows/:id/publish",
  "workflows.unpublish": "POST /workflows/:id/unpublish",
  "workflows.versions": "GET /workflows/:id/versions",
  "workflows.version": "GET /workflows/:id/versions/:version",
  "workflows.restore": "POST /workflows/:id/versions/:version/restore",
  "workflows.difference": "GET /workflows/:id/versions/:version/difference",
  "triggers.list": "GET /workflows/:id/triggers",
  "triggers.create": "POST /workflows/:id/triggers",
  "triggers.get": "GET /workflows/:id/triggers/:triggerId",
  "triggers.update": "PATCH /workflows/:id/triggers/:triggerId",
  "triggers.readdress": "POST /workflows/:id/triggers/:triggerId/address",
  "triggers.beginTest": "POST /workflows/:id/triggers/:triggerId/test",
  "triggers.readTest": "GET /workflows/:id/triggers/:triggerId/test",
  "triggers.endTest": "DELETE /workflows/:id/triggers/:triggerId/test",
  "triggers.remove": "DELETE /workflows/:id/triggers/:triggerId",
  "triggers.paused": "GET /triggers/pause",
  "triggers.pause": "POST /triggers/pause",
  "triggers.resume": "POST /triggers/resume",
  "runs.list": "GET /runs",
  "runs.live": "GET /runs/live",
  "runs.start": "POST /runs",
  "runs.estimate": "POST /runs/estimate",
  "runs.batch": "POST /runs/batch",
  "runs.get": "GET /runs/:id",
  "runs.node": "GET /runs/:id/nodes/:nodeId",
  "runs.items": "GET /runs/:id/nodes/:nodeId/items",
  "runs.definition": "GET /runs/:id/definition",
  "runs.value": "GET /runs/:id/values/:valueId",
  "runs.events": "GET /runs/:id/events",
  "runs.cancel": "POST /runs/:id/cancel",
  "runs.signal": "POST /runs/:id/signals/:name",
  "runs.rerun": "POST /runs/:id/rerun",
  "runs.rerunFailed": "POST /runs/rerun-failed",
  "runs.planRerun": "POST /runs/:id/rerun/plan",
  "approvals.list": "GET /approvals",
  "approvals.get": "GET /runs/:id/approvals/:nodeId",
  "approvals.decide": "POST /runs/:id/approvals/:nodeId/decide",
  "approvals.link": "POST /runs/:id/approvals/:nodeId/link",
  "deliveries.list": "GET /runs/:id/deliveries",
  "deliveries.listAll": "GET /deliveries",
  "deliveries.get": "GET /deliveries/:id",
  "deliveries.redeliver": "POST /deliveries/:id/redeliver",
  "deliveries.redeliverFailed": "POST /deliveries/redeliver-failed",
  "nodeTypes.list": "GET /node-types",
  "usage.read": "GET /usage",
}

type ConsoleGroups = (typeof ConsoleApi)["groups"]

/** The groups that only the console has. */
type OwnGroup = "session" | "keys" | "secrets" | "sessions" | "testEvents" | "quarantine"

/** The operations that only the console's client has. */
export type ConsoleOperationName =
  | { [G in OwnGroup]: `${G}.${keyof ConsoleGroups[G]["endpoints"] & string}` }[OwnGroup]
  | "accounts.list"
  | `credits.${"grant" | "show" | "statement"}`
  | "audit.audit"
  | "types.list"

type ConsoleEndpointOf<O extends ConsoleOperationName> = O extends `${infer G}.${infer N}`
  ? G extends keyof ConsoleGroups
    ? N extends keyof ConsoleGroups[G]["endpoints"]
      ? ConsoleGroups[G]["endpoints"][N]
      : never
    : never
  : never

/** Their methods and paths below `/api/console/v1`, which has the operations above, too. */
export const consoleRoutes: {
  readonly [O in ConsoleOperationName]: RouteOf<ConsoleEndpointOf<O>>
} = {
  "session.get": "GET /session",
  "session.find": "GET /sign-in",
  "session.signIn": "POST /sign-in",
  "session.signOut": "POST /sign-out",
  "keys.list": "GET /keys",
  "keys.create": "POST /keys",
  "keys.update": "PATCH /keys/:id",
  "keys.revoke": "POST /keys/:id/revoke",
  "secrets.list": "GET /secrets",
  "secrets.put": "PUT /secrets/:name",
  "secrets.remove": "DELETE /secrets/:name",
  "sessions.list": "GET /sessions",
  "sessions.create": "POST /sessions",
  "sessions.revoke": "POST /sessions/:id/revoke",
  "testEvents.send": "POST /test-events",
  "accounts.list": "GET /operator/accounts",
  "credits.show": "GET /operator/accounts/:id/credits",
  "credits.grant": "POST /operator/accounts/:id/credits/grants",
  "credits.statement": "GET /operator/accounts/:id/credits/statement",
  "audit.audit": "GET /operator/audit",
  "types.list": "GET /operator/node-types",
  "quarantine.list": "GET /operator/quarantine",
  "quarantine.release": "POST /operator/quarantine/:id/release",
  "quarantine.end": "POST /operator/quarantine/:id/end",
}
