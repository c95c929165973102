/**
 * The process `millrace`: runs the command that was typed. `bin/millrace.js` starts it, on a Node
 * of a supported version.
 *
 * Node keeps compiled code for the next command. The folder is the user's own, because Node
 * executes whatever it finds there. The imports come after that, so their code is kept, too.
 */
import { enableCompileCache } from "node:module"
import { homedir } from "node:os"
import { join } from "node:path"
import * as ModuleFiles from "./internal/ModuleFiles.ts"

try {
  enableCompileCache(join(homedir(), ".cache", "millrace"))
} catch {
  // A user without a home folder; then nothing is kept.
}
ModuleFiles.begin()
const [{ run }, { launch }] = await Promise.all([
  import("./internal/command/CommandLine.ts"),
  import("./internal/command/Launch.ts"),
])
launch(run)
