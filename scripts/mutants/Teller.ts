/**
 * Names each fault that no test noticed as soon as that is known, for runs that their time limit
 * ends in the middle of a file; first those of earlier runs. A plugin of StrykerJS, as an object,
 * because its types are no part of an install of the repository.
 */
import type { Mutant } from "./Report.ts"
import { brief, isMissed } from "./Report.ts"

class Teller {
  onMutantTested({ fileName, location, replacement = "", status }: Mutant & { fileName: string }) {
    if (!isMissed(status)) return
    const { column, line } = location.start
    console.log(`Not noticed: ${fileName}:${line}:${column}  + ${brief(replacement)}`)
  }
}

export const strykerPlugins = [{ kind: "Reporter", name: "teller", injectableClass: Teller }]
