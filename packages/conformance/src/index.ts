/**
 * The published suites of Millrace: what an adapter must do, as tests.
 *
 * Leaves out: a database to test against; `@millrace/conformance/TestPostgres` starts one.
 */
export { conformance } from "./Conformance.ts"
export { deliveryConformance } from "./DeliveryConformance.ts"
export { valueConformance } from "./ValueConformance.ts"
export * as Samples from "./Samples.ts"
