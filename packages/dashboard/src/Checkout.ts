/**
 * Builds the app where its sources are, in a checkout, if they are newer than what was built.
 *
 * Leaves out: an installed package, which has no sources of the app and brings its files.
 */
import { spawn } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Where sources of the app are, in a checkout. */
const sources = ["app", "vite.config.ts", "package.json", "../react/src", "../api/src"]

const changedAt = (path: string): number => {
  if (!existsSync(path)) return 0
  const { mtimeMs } = statSync(path)
  if (!statSync(path).isDirectory()) return mtimeMs
  return Math.max(0, ...readdirSync(path).map((name) => changedAt(join(path, name))))
}

const isOutdated = (): boolean => {
  const built = changedAt(join(root, "dist/app/index.html"))
  return built === 0 || sources.some((name) => changedAt(join(root, name)) > built)
}

const run = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const vite = fileURLToPath(new URL("../../../node_modules/vite/bin/vite.js", import.meta.url))
    const child = spawn(process.execPath, [vite, "build", "--logLevel", "error"], {
      cwd: root,
      // Whatever the surroundings are: React for production is half as large.
      env: { NODE_ENV: "production" },
      stdio: ["ignore", "ignore", "pipe"],
    })
    let errors = ""
    child.stderr.on("data", (text) => (errors += String(text)))
    child.once("error", reject)
    child.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`The dashboard cannot be built: ${errors}`)),
    )
  })

let building: Promise<void> | undefined

/** Resolves when no build is in progress. */
export const settled = async (): Promise<void> => building?.catch(() => undefined)

/** Builds the app if its sources are newer. True: it was built. Rejects if it cannot be built. */
export const buildIfOutdated = async (): Promise<boolean> => {
  if (!existsSync(join(root, "app")) || !isOutdated()) return false
  building ??= run().finally(() => {
    building = undefined
  })
  await building
  return true
}
