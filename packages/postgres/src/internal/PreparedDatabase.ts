/**
 * An empty database, as PGlite makes it: files in one compressed archive that this package brings
 * along, because making them takes several seconds and half a gigabyte of memory.
 *
 * `scripts/prepare-database.ts` makes the archive, and a test compares it with a database that
 * PGlite makes itself. Leaves out: our tables; the migrations make those.
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
