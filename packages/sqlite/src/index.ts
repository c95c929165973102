/**
 * The stores of Millrace in one file of SQLite.
 *
 * Leaves out: the single stores.
 */
export * as DataFile from "./DataFile.ts"
export * as Stores from "./Stores.ts"
