/**
 * Starts an application that hangs in a node of a run, for tests that kill it.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { onTestFinished } from "vitest"

const script = fileURLToPath(new URL("Killed.ts", import.meta.url))

/** The application hangs in its run now, and is gone when `kill` has resolved. */
export const interrupted = async (kind: "pglite" | "postgres" | "sqlite", place: string) => {
  const options = ["--conditions=@millrace/source", script, kind, place]
  const child = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] })
  onTestFinished(() => void child.kill("SIGKILL"))
  const ended = once(child, "exit")
  const [printed] = await once(child.stdout, "data")
  const kill = async () => {
    child.kill("SIGKILL")
    await ended
  }
  return { id: String(printed).trim(), kill }
}
