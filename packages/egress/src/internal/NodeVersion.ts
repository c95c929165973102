/**
 * Which Node this package needs, checked when it is loaded: imported before what an older one
 * cannot load, so that a sentence is shown in place of the error of a library.
 *
 * Leaves out: other runtimes, which say that they are a Node of some version.
 */

/** The oldest Node that will do, as `engines` of every package has it. */
export const needed = "22.19"

const numbersOf = (version: string): readonly [major: number, minor: number] => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return [major, minor]
}

/** Why a Node of this version (`20.20.2`) will not do; `undefined` when it will. */
export const problemOf = (version: string): string | undefined => {
  const [major, minor] = numbersOf(version)
  const [neededMajor, neededMinor] = numbersOf(needed)
  const isOld = major < neededMajor || (major === neededMajor && minor < neededMinor)
  return isOld ? `Millrace needs Node ${needed} or newer, and this is Node ${version}` : undefined
}

const problem = problemOf(process.versions.node)
if (problem !== undefined) throw new Error(problem)
