/**
 * What a thread for handlers may know of the environment: everything but what is Millrace's own.
 */
import { isMainThread, workerData } from "node:worker_threads"

const secrets: ReadonlyArray<string> = ["DATABASE_URL", "PGPASSWORD"]

/** In capitals: on Windows, names that differ only there are one. */
const isOurs = (name: string): boolean => {
  const capitals = name.toUpperCase()
  return capitals.startsWith("MILLRACE_") || secrets.includes(capitals)
}

/** The environment without the master key, tokens and how to reach the database. */
export const threadEnvironment = (): NodeJS.Dict<string> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)))

/**
 * Takes out of a thread's own environment what came back: flags such as `--env-file` are read by
 * every thread anew.
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
