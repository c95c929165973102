/**
 * Builds the app where its sources are, in a checkout, if they are newer than what was built.
 *
 * Guarantees: the files are complete whenever they are there, also if several processes build at
 * once. Leaves out: an installed package, which has no sources of the app and brings its files.
 */
import { spawn } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { rename, rm } from "node:fs/promises"
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

const bundle = (folder: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const vite = fileURLToPath(new URL("../../../node_modules/vite/bin/vite.js", import.meta.url))
    const child = spawn(
      process.execPath,
      [vite, "build", "--logLevel", "error", "--outDir", folder],
      {
        cwd: root,
        // Whatever the surroundings are: React for production is half as large.
        env: { NODE_ENV: "production" },
        stdio: ["ignore", "ignore", "pipe"],
      },
    )
    let errors = ""
    child.stderr.on("data", (text) => (errors += String(text)))
    child.once("error", reject)
    child.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`The dashboard cannot be built: ${errors}`)),
    )
  })

/** Builds beside the files that are there, and takes their place. */
const build = async (): Promise<void> => {
  const draft = join(root, `dist/draft-${process.pid}`)
  const old = `${draft}-old`
  const app = join(root, "dist/app")
  await bundle(draft)
  // Another process may be faster with the same files, here and below.
  await rename(app, old).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error
  })
  await rename(draft, app).catch(() => rm(draft, { recursive: true }))
  await rm(old, { recursive: true, force: true })
}

let building: Promise<void> | undefined

/** Builds the app if its sources are newer than its files. Rejects if it cannot be built. */
export const buildIfOutdated = async (): Promise<void> => {
  if (!existsSync(join(root, "app")) || !isOutdated()) return
  building ??= build().finally(() => {
    building = undefined
  })
  await building
}
