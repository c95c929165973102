/**
 * A client for a Millrace server in another process: `import { createClient } from
 * "millrace/client"`.
 *
 * Guarantees: nothing of the engine is loaded.
 */
export * from "@millrace/api/ConsoleClient"
export * from "@millrace/api/PromiseClient"
