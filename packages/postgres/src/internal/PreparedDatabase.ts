/**
 * An empty PGlite database as a compressed archive, which is part of this package: without it,
 * PGlite needs several seconds and half a gigabyte of memory to make one.
 *
 * `scripts/prepare-database.ts` makes the archive, and a test compares it with a database that
 * PGlite has made. Leaves out: Millrace's tables; the migrations make them.
 */
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { brotliDecompress } from "node:zlib"

const archive = new URL("../../prepared/database.tar.br", import.meta.url)

/** The archive as PGlite reads it. */
export const read = async (): Promise<Blob> => {
  const files = await promisify(brotliDecompress)(await readFile(archive))
  return new Blob([new Uint8Array(files)])
}
