/**
 * A thread that imports one module, to find out whether that ends. `TrialImport` starts it as a
 * worker; nothing imports it.
 */
import { parentPort, workerData } from "node:worker_threads"
import type { ModuleAddress } from "./ModuleImport.ts"
import { problemOfImport } from "./ModuleImport.ts"
import type { TrialResult } from "./TrialImport.ts"

const result: TrialResult = { problem: await problemOfImport(workerData as ModuleAddress) }
parentPort?.postMessage(result, [])
