/**
 * The public modules of this package, each as a namespace. Deep imports
 * (`@millrace/nodes/Builtin`) give the same and load less.
 */
export * as Builtin from "./Builtin.ts"
export * as Outbound from "./Outbound.ts"
export * as Rules from "./Rules.ts"
export * as Steps from "./Steps.ts"
export * as Template from "./Template.ts"
