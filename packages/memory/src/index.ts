/**
 * The in-memory stores of Millrace.
 *
 * Leaves out: the single stores; import them from their own modules.
 */
export * as Stores from "./Stores.ts"
