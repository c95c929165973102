/**
 * Packs every package as npm would publish it, and tries what came out: what is in the tarballs,
 * what an application that installs them gets, and whether the programs of the pages run there.
 *
 * Needs `dist` of every package and the registry. Prints one line per problem and a count at the
 * end; exits with 1 when there is a problem.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PostgresServer } from "../../packages/postgres/test/PostgresServer.ts"
import { installAll, installAlone, problemsOfImports, problemsOfSamples } from "./Installed.ts"
import { pack, problemsOf } from "./Packed.ts"

const tarballs = mkdtempSync(join(tmpdir(), "millrace-packed-"))
const application = mkdtempSync(join(tmpdir(), "millrace-application-"))
const server = await PostgresServer.create()
const problems: Array<string> = []

const tell = (title: string, found: ReadonlyArray<string>): void => {
  console.log(`${title}: ${found.length === 0 ? "fine" : found.join("\n  ")}`)
  problems.push(...found)
}

try {
  const all = pack(tarballs)
  for (const packed of all) tell(packed.manifest.name, await problemsOf(packed))
  const { figures, problems: alone } = installAlone(application, all)
  tell(figures, alone)
  installAll(application, all)
  tell("imports", problemsOfImports(application, all))
  tell("programs of the pages", problemsOfSamples(application, server.url))
} finally {
  await server.remove()
  for (const folder of [tarballs, application]) rmSync(folder, { recursive: true, force: true })
}
console.log(`${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
