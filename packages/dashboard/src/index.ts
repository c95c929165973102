/**
 * The files of the dashboard, for a server that sends them.
 *
 * Guarantees: reads nothing outside of its folder. Keeps what it has read, also compressed, until
 * the file changes. In a checkout, a page waits until the app is built if its sources are newer.
 * Leaves out: headers.
 */
import { readFile, stat } from "node:fs/promises"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { buildIfOutdated } from "./Checkout.ts"

export { buildIfOutdated } from "./Checkout.ts"

/** A file as it is sent. */
interface File {
  readonly bytes: Uint8Array
  /** The same bytes, compressed with gzip. */
  readonly gzip: Uint8Array
  /** Its media type. */
  readonly contentType: string
}

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
}

/** Where `npm run build` puts the files. */
export const folder = fileURLToPath(new URL("../dist/app/", import.meta.url))

/** Names that the build gives; never one that leads out of the folder. */
const known = /^(?:assets\/)?[\w-][\w.-]*$/

const compress = promisify(gzip)
const kept = new Map<string, { readonly changed: number; readonly file: File }>()

/** Reads a file by its path in the folder, such as `index.html`. `undefined`: there is none. */
export const readDashboardFile = async (path: string): Promise<File | undefined> => {
  const contentType = types[extname(path)]
  if (contentType === undefined || !known.test(path)) return undefined
  const place = join(folder, path)
  if (path === "index.html") await buildIfOutdated()
  try {
    const { mtimeMs: changed } = await stat(place)
    const found = kept.get(path)
    if (found?.changed === changed) return found.file
    const bytes = await readFile(place)
    const file = { bytes, gzip: await compress(bytes), contentType }
    kept.set(path, { changed, file })
    return file
  } catch {
    // Not built yet, or no such file.
    return undefined
  }
}
