/**
 * The public modules of this package, each as a namespace. Deep imports
 * (`@millrace/egress/Egress`) give the same and load less.
 */
export * as Address from "./Address.ts"
export * as Confined from "./Confined.ts"
export * as Egress from "./Egress.ts"
export * as Headers from "./Headers.ts"
export * as Policy from "./Policy.ts"
export * as Resolve from "./Resolve.ts"
