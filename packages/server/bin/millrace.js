#!/usr/bin/env node
/**
 * The command `millrace`, started by whatever Node is installed.
 *
 * In a checkout it runs the sources, on the Node that is pinned there; as a package it runs the
 * build, on the Node it was started with. One that is too old is refused in a sentence, so this file
 * is written for old ones.
 */
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url))

const isCheckout = !import.meta.url.includes("/node_modules/")
const pinned = pathOf("../../../node_modules/node/bin/node")

const numbersOf = (version) => version.replace(/^\D+/, "").split(".").map(Number)

const refuseOld = () => {
  const { engines } = JSON.parse(readFileSync(pathOf("../package.json"), "utf8"))
  const [major, minor] = numbersOf(engines.node)
  const [ownMajor, ownMinor] = numbersOf(process.version)
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return
  console.error(
    `Millrace needs Node ${major}.${minor} or newer, and this is Node ${process.versions.node}`,
  )
  process.exit(1)
}

/** Runs the sources in a process of their own, passes signals on, and ends as it does. */
const runSources = () => {
  const args = ["--conditions=@millrace/source", pathOf("../src/main.ts"), ...process.argv.slice(2)]
  const child = spawn(pinned, args, { stdio: "inherit" })
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"]
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.on("exit", (code, signal) => {
    for (const each of signals) process.removeAllListeners(each)
    if (signal === null) process.exitCode = code
    else process.kill(process.pid, signal)
  })
}

if (!isCheckout) {
  refuseOld()
  await import("../dist/main.js")
} else if (existsSync(pinned)) {
  runSources()
} else {
  console.error("The Node that this checkout brings is not there: run npm ci first")
  process.exit(1)
}
