/**
 * The front door of Millrace for applications without Effect.
 *
 * Leaves out: the Effect interface; that is `@millrace/core` and its neighbours.
 */
export { createEngine } from "./Engine.ts"
export type { AllowedNetwork, EgressOptions, Engine, EngineOptions } from "./Engine.ts"
export { toNodeHandler } from "./NodeHandler.ts"
export type { NodeHandler } from "./NodeHandler.ts"
export { defineNode } from "./Node.ts"
export type { NodeType } from "./Node.ts"
export type { Inputs, Literals, NodeContext, NodeLog, NodeOptions, Outputs } from "./Declaration.ts"
export { NodeError } from "./NodeError.ts"
export type { EffectSchema, PortSchema, PortSchemas } from "./Port.ts"
export { memory, pglite, postgres } from "./Store.ts"
export type { PostgresOptions, Store } from "./Store.ts"
export { MillraceError } from "./MillraceError.ts"
export type { ErrorCode } from "./MillraceError.ts"
export type {
  AddedNode,
  DrawnEdge,
  DrawnNode,
  NewNode,
  Workflow,
  WorkflowDocument,
  WorkflowItem,
  WorkflowQuery,
  Workflows,
} from "./Workflow.ts"
export type { BuiltinType, NodePlacing, WorkflowBuilder } from "./WorkflowBuilder.ts"
export type { Duration } from "./Duration.ts"
export type {
  NodeRun,
  RunEstimate,
  RunHandle,
  RunItem,
  RunQuery,
  RunResult,
  Runs,
  StartRequest,
  WaitOptions,
} from "./Run.ts"
export type {
  AccountCredits,
  Credits,
  AdminOperation,
  Entry,
  Grant,
  NewGrant,
  StatementQuery,
} from "./Credit.ts"
export type { SigningSecret, WebhookOptions, Webhooks } from "./Webhook.ts"
export type { CreatedKey, Key, Keys, NewKey } from "./Key.ts"
export type { Listing, Page, PageQuery } from "./Listing.ts"
