/**
 * For `node --import`: writes which modules a process loads, and on which thread, into the file
 * that the variable `LOADED_MODULES` names. A line for each: name of the thread, space, address.
 */
import { appendFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { isMainThread, threadName } from "node:worker_threads"

const file = process.env["LOADED_MODULES"]
const thread = isMainThread ? "main" : threadName

registerHooks({
  load: (url, context, next) => {
    if (file !== undefined) appendFileSync(file, `${thread} ${url}\n`)
    return next(url, context)
  },
})
