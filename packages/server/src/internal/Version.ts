/**
 * The version of this package, as its package.json says.
 */
import { readFileSync } from "node:fs"

const manifest = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as unknown as { readonly version: string }

/** For example `0.1.0`. */
export const version: string = manifest.version
