/**
 * Makes the empty database that `@millrace/postgres` brings along for PGlite. To be run when the
 * version of PGlite changes: `node --conditions=@millrace/source scripts/prepare-database.ts`.
 * Takes about a minute and prints the size.
 */
import { PGlite } from "@electric-sql/pglite"
import { writeFileSync } from "node:fs"
import { brotliCompressSync, constants } from "node:zlib"

const file = new URL("../packages/postgres/prepared/database.tar.br", import.meta.url)

const database = await PGlite.create()
await database.exec("CHECKPOINT")
const archive = await database.dumpDataDir("none")
const files = new Uint8Array(await archive.arrayBuffer())
await database.close()
const compressed = brotliCompressSync(files, {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: files.length,
  },
})
writeFileSync(file, compressed)
console.log(`${file.pathname}: ${compressed.length} bytes, ${files.length} when it is unpacked`)
