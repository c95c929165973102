/**
 * Files that are on the disk when a call ends.
 */
import { open } from "node:fs/promises"

/** The code of a system error: `ENOENT`. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error ? String(error.code) : undefined

const goneCodes: ReadonlyArray<string | undefined> = ["ENOENT", "ENOTDIR"]

/** What the promise gives; `undefined` if there is no such file or folder. */
export const unlessGone = async <A>(work: Promise<A>): Promise<A | undefined> => {
  try {
    return await work
  } catch (error) {
    if (goneCodes.includes(codeOf(error))) return undefined
    throw error
  }
}

/** Writes a new file. */
export const writeSynced = async (path: string, bytes: Uint8Array): Promise<void> => {
  const file = await open(path, "wx", 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** What systems answer that cannot sync folders: Windows, and some network file systems. */
const unsupported: ReadonlyArray<string | undefined> = ["EISDIR", "EPERM", "EINVAL", "ENOTSUP"]

/** The names in a folder are on the disk. One that is gone meanwhile was empty. */
export const syncFolder = async (path: string): Promise<void> => {
  try {
    const folder = await open(path, "r")
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  } catch (error) {
    if (!unsupported.includes(codeOf(error))) throw error
  }
}
