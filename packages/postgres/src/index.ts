/**
 * The durable stores of Millrace: Postgres, and PGlite as the embedded default.
 *
 * Leaves out: the single stores; import them from their own modules.
 */
export * as DataFolder from "./DataFolder.ts"
export * as Pglite from "./Pglite.ts"
export * as Postgres from "./Postgres.ts"
export * as SharedStores from "./SharedStores.ts"
export * as Stores from "./Stores.ts"
export * as Wakeups from "./Wakeups.ts"
