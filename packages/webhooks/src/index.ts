/**
 * The public modules of this package, each as a namespace. Deep imports
 * (`@millrace/webhooks/Dispatcher`) give the same and load less.
 */
export * as Dispatcher from "./Dispatcher.ts"
export * as DispatcherOptions from "./DispatcherOptions.ts"
export * as DispatcherStep from "./DispatcherStep.ts"
export * as LocalQueue from "./LocalQueue.ts"
export * as MasterKey from "./MasterKey.ts"
export * as MasterVault from "./MasterVault.ts"
export * as Signature from "./Signature.ts"
export * as Targets from "./Targets.ts"
