/**
 * The environment of a handler thread: that of the process, without Millrace's own variables.
 */
import { isMainThread, workerData } from "node:worker_threads"

const secrets: ReadonlyArray<string> = ["DATABASE_URL", "PGPASSWORD"]

/** Compares in capitals, because Windows ignores the case of names. */
const isOurs = (name: string): boolean => {
  const capitals = name.toUpperCase()
  return capitals.startsWith("MILLRACE_") || secrets.includes(capitals)
}

/** The environment without the master key, tokens and the database's address and password. */
export const threadEnvironment = (): NodeJS.Dict<string> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)))

/**
 * Removes Millrace's variables from the environment of this thread. Every thread reads flags such
 * as `--env-file` again, so they can come back.
 */
export const clearEnvironment = (): void => {
  for (const name of Object.keys(process.env).filter(isOurs)) delete process.env[name]
}

/** True on a thread that calls handlers. */
export const isHandlerThread = (): boolean =>
  !isMainThread &&
  typeof workerData === "object" &&
  workerData !== null &&
  "millraceModule" in workerData
