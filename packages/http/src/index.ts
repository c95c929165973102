/**
 * The HTTP interface of the engine, to serve or to mount. Deep imports
 * (`@millrace/http/WebHandler`) give the same and load less.
 */
export * as Addresses from "./Addresses.ts"
export * as AdminAuthorization from "./AdminAuthorization.ts"
export * as AdminHandler from "./AdminHandler.ts"
export * as HttpApp from "./HttpApp.ts"
export * as WebHandler from "./WebHandler.ts"
