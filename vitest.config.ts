// One configuration for every package's tests: sources are read through the `@millrace/source`
// condition, so no build is needed before a test run.
import { readFileSync, readdirSync, statfsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// What processes that tests start have compiled: they begin in half the time.
const compiled = new URL("node_modules/.cache/compiled/", import.meta.url)
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(compiled)

/** A file system in memory with room for the folders of all tests, in which programs may be run. */
const inMemory = (): string | undefined => {
  try {
    const mount = readFileSync("/proc/mounts", "utf8").match(/^\S+ (\/dev\/shm) tmpfs (\S+)/m)
    if (mount === null || mount[2]?.split(",").includes("noexec")) return undefined
    const { bavail, bsize } = statfsSync("/dev/shm")
    return Math.min(bavail * bsize, process.availableMemory()) > 6e9 ? "/dev/shm" : undefined
  } catch {
    return undefined // Not Linux.
  }
}

// Databases come and go with hundreds of files each: on a disk, they take a sixth of a test run.
const folders = process.env["TMPDIR"] ?? inMemory()
if (folders !== undefined) process.env["TMPDIR"] = folders

const conditionsOf = (name: string) => [
  "@millrace/source",
  // The AWS SDK has files there that only bundlers can read.
  ...(["millrace", "values"].includes(name) ? [] : ["module"]),
  "node",
  "development|production",
]

/** Packages whose tests start servers, databases or browsers: each file has a worker of its own. */
const apart = ["dashboard", "postgres", "react", "server"]

// They take minutes, so they are a suite of their own.
const inBrowser = ["test/browser/**/*.test.ts"]

/** The tests of packages: those that drive a browser, or all others. */
export const testsOf = (part: "browser" | "others") =>
  defineConfig({
    test: {
      // Two also on two cores: much of a test run waits for processes and disks.
      maxWorkers: 2,
      projects: readdirSync(new URL("packages/", import.meta.url)).map((name) => ({
        resolve: { conditions: conditionsOf(name) },
        ssr: {
          resolve: { conditions: conditionsOf(name), externalConditions: conditionsOf(name) },
        },
        test: {
          name,
          root: `packages/${name}`,
          ...(part === "browser"
            ? { include: inBrowser }
            : { include: ["test/**/*.test.ts"], exclude: inBrowser }),
          // The files of the other packages share what they import, which is half of their time.
          isolate: apart.includes(name),
          // Against what hangs, not against what is slow.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
        },
      })),
    },
  })

export default testsOf("others")
