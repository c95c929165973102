/**
 * The process `millrace`: runs what was typed. `bin/millrace.js` starts it, on a Node that fits.
 *
 * What Node has compiled is kept for the next command, in a folder of the user's own, because it is
 * run as it is found there. Everything else is imported once that was asked for.
 */
import { enableCompileCache } from "node:module"
import { homedir } from "node:os"
import { join } from "node:path"

try {
  enableCompileCache(join(homedir(), ".cache", "millrace"))
} catch {
  // A user who has no folder; then nothing is kept.
}
const [{ run }, { launch }] = await Promise.all([
  import("./internal/command/CommandLine.ts"),
  import("./internal/command/Launch.ts"),
])
launch(run)
