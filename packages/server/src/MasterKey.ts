/**
 * The master key: what signing secrets and the headers of webhooks are kept with.
 *
 * Guarantees: a development server keeps the key that it made, readable to its user alone, and
 * never replaces one that it cannot read, because what was sealed with that would be lost. Leaves
 * out: servers for operators, who bring a key.
 */
import { isMasterKey, masterKeyForm } from "@millrace/webhooks/MasterKey"
import { newMasterKey } from "@millrace/webhooks/MasterVault"
import { Effect, Redacted } from "effect"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { DevSettings } from "./Config.ts"
import { StartRefused } from "./StartRefused.ts"

const fileName = "master.key"

const read = (path: string): Effect.Effect<Redacted.Redacted, StartRefused> => {
  const text = readFileSync(path, "utf8").trim()
  if (isMasterKey(text)) return Effect.succeed(Redacted.make(text))
  const message = `The master key in ${path} is not ${masterKeyForm}: restore it from a backup`
  return Effect.fail(new StartRefused({ message, reason: "failed" }))
}

/** Whole or not at all, so that nobody is left with half a key. */
const write = (path: string, key: Redacted.Redacted): void => {
  const draft = `${path}.draft`
  writeFileSync(draft, `${Redacted.value(key)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

/**
 * The master key of a development server: the one it is told, else the one in its data folder,
 * which is made when missing. The folder has to be open.
 */
export const ensure = Effect.fnUntraced(function* ({
  data,
  masterKey,
  memory,
}: Pick<DevSettings, "data" | "masterKey" | "memory">): Effect.fn.Return<
  Redacted.Redacted,
  StartRefused
> {
  if (masterKey !== null) return masterKey
  const path = join(data, fileName)
  if (!memory && existsSync(path)) return yield* read(path)
  const key = yield* newMasterKey
  if (!memory) write(path, key)
  return key
})
