/**
 * A client for a Millrace server that runs elsewhere: `import { createClient } from
 * "millrace/client"`.
 *
 * Leaves out: the engine; nothing of it is loaded.
 */
export * from "@millrace/api/PromiseClient"
