/**
 * The definition of the HTTP interface: operations, wire forms, errors, and a client made from it.
 */
export * as AdminApi from "./AdminApi.ts"
export * as AdminClient from "./AdminClient.ts"
export * as AdminWebhookWire from "./AdminWebhookWire.ts"
export * as AdminWire from "./AdminWire.ts"
export * as Api from "./Api.ts"
export * as Authorization from "./Authorization.ts"
export * as Client from "./Client.ts"
export * as DeliveryWire from "./DeliveryWire.ts"
export * as NodeTypeWire from "./NodeTypeWire.ts"
export * as PageQuery from "./PageQuery.ts"
export * as RunWire from "./RunWire.ts"
export * as Sentence from "./Sentence.ts"
export * as WireError from "./WireError.ts"
export * as WorkflowWire from "./WorkflowWire.ts"
