/**
 * The servers, to be started by code instead of the command line.
 *
 * Leaves out: the command line itself; that is `main`.
 */
export * as Config from "./Config.ts"
export * as Dev from "./Dev.ts"
export * as Serve from "./Serve.ts"
export { CommandFailed } from "./CommandFailed.ts"
