/**
 * A process of its own that stores one value in a folder.
 */
import type { ValueKey } from "@millrace/core/ports/ValueStore"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

export interface WriterOptions {
  readonly folder: string
  readonly key: ValueKey
  /** What the process does when the value is stored, or before. */
  readonly next: "die" | "die in the middle" | "report"
  /** Bytes that a file may have at most, as the system enforces it; none by default. */
  readonly fileBytes?: number
}

const program = fileURLToPath(new URL("WriterProgram.ts", import.meta.url))

/** Runs the process to its end. */
export const runWriter = ({ fileBytes, ...options }: WriterOptions) => {
  const node = [process.execPath, "--conditions=@millrace/source", program, JSON.stringify(options)]
  // The signal that the system sends with the error would end the process.
  const limit = `trap '' XFSZ; ulimit -f ${(fileBytes ?? 0) / 512}; exec "$@"`
  const [command = "", ...rest] =
    fileBytes === undefined ? node : ["/bin/sh", "-c", limit, "sh", ...node]
  return spawnSync(command, rest, { encoding: "utf8", timeout: 60_000 })
}
