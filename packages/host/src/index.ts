/**
 * The public modules of this package, each as a namespace. Deep imports (`@millrace/host/Host`)
 * give the same and load less.
 */
export * as Blocking from "./Blocking.ts"
export * as Host from "./Host.ts"
export * as MasterKey from "./MasterKey.ts"
export * as Threads from "./Threads.ts"
