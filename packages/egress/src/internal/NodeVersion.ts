/**
 * Checks the version of Node when this module is loaded. It is imported before the libraries that
 * an older Node cannot load, so that the user gets a sentence instead of an error of a library.
 *
 * Leaves out: other runtimes. They report a version of Node, too.
 */

/** The oldest Node that works. `engines` of every package has the same version. */
export const needed = "22.19"

const numbersOf = (version: string): readonly [major: number, minor: number] => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return [major, minor]
}

/** Why a Node of this version (`20.20.2`) does not work; `undefined` if it works. */
export const problemOf = (version: string): string | undefined => {
  const [major, minor] = numbersOf(version)
  const [neededMajor, neededMinor] = numbersOf(needed)
  const isOld = major < neededMajor || (major === neededMajor && minor < neededMinor)
  return isOld ? `Millrace needs Node ${needed} or newer, and this is Node ${version}` : undefined
}

const problem = problemOf(process.versions.node)
if (problem !== undefined) throw new Error(problem)
