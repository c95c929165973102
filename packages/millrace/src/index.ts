/**
 * Millrace for applications without Effect.
 *
 * Leaves out: the interface with Effect; it is in `@millrace/core` and the packages beside it.
 */
export * from "@millrace/api/PromiseClient"
export type {
  Account,
  AccountChange,
  AccountClient,
  Accounts,
  NewAccount,
} from "./AccountClient.ts"
export type { Authorize, RequestOwner } from "./Authorize.ts"
export type {
  NewSession,
  Session,
  SessionLink,
  SessionOwner,
  Sessions,
  SessionToken,
} from "./ConsoleSession.ts"
export { createEngine } from "./CreateEngine.ts"
export type { DashboardGrant, DashboardOptions } from "./Dashboard.ts"
export type { Engine } from "./Engine.ts"
export type { EngineLogger, LogEntry } from "./EngineLogger.ts"
export type { TelemetryOptions } from "./Telemetry.ts"
export type { AllowedNetwork, EgressOptions, EngineOptions } from "./EngineOptions.ts"
export type { DrainOptions, EngineStatus } from "./EngineStatus.ts"
export { toNodeHandler } from "./NodeHandler.ts"
export type { NodeHandler } from "./NodeHandler.ts"
export { defineNode } from "./Node.ts"
export type { NodeType } from "./Node.ts"
export type { Inputs, Literals, NodeContext, NodeLog, NodeOptions, Outputs } from "./Declaration.ts"
export { NodeError } from "./NodeError.ts"
export type { EffectSchema, PortSchema, PortSchemas } from "./Port.ts"
export { memory, pglite, postgres, sqlite } from "./Store.ts"
export type { PostgresOptions, Store } from "./Store.ts"
export { folderValues, s3Values } from "./ValuePlace.ts"
export type { S3Options, Values } from "./ValuePlace.ts"
export type {
  BuiltinType,
  InputsAt,
  NodeData,
  NodePlacing,
  NodeRetry,
  OutputsAt,
} from "./DrawnNode.ts"
export type { WorkflowBuilder, WorkflowFields } from "./WorkflowBuilder.ts"
export type {
  AccountCredits,
  Credits,
  AdminOperation,
  Entry,
  Grant,
  NewGrant,
  StatementQuery,
} from "./Credit.ts"
export type { AuditReport, EndedRun, OperatorCalls } from "./OperatorCalls.ts"
export type { QuarantinedRun, QuarantinedRuns, TypeInUse } from "./OperatorCalls.ts"
export type { SentDelivery, SigningSecret, TestEvent, WebhookOptions, Webhooks } from "./Webhook.ts"
export type { ListedSecret, NewSecret, Secret, Secrets } from "./Secret.ts"
export type { CreatedKey, Key, KeyChange, Keys, NewKey } from "./Key.ts"
