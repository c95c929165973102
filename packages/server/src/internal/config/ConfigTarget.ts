/**
 * Where a command that manages accounts and keys finds them: flags first, then variables.
 *
 * Guarantees: nothing is guessed; a command that could mean two places is refused. Leaves out:
 * whether there is anything at that place.
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import { CommandFailed } from "../../CommandFailed.ts"
import { defaults, resolveAll, resolveDatabase } from "../../Config.ts"
import type {
  DatabaseFlags,
  DatabaseSettings,
  DevSettings,
  Flags,
  KeySettings,
  RemoteSettings,
} from "./Settings.ts"
import { folderVariables, hookVariables, remoteVariables } from "./Variables.ts"

/** Where accounts and keys are managed: a running server, a database, or a folder of `dev`. */
export type Target =
  | { readonly _tag: "Server"; readonly url: string; readonly token: Redacted.Redacted }
  | LocalTarget

/** One where a command works on the data itself. */
export type LocalTarget =
  | { readonly _tag: "Database"; readonly settings: DatabaseSettings; readonly hooks: HookSettings }
  | ({ readonly _tag: "Folder"; readonly data: string; readonly hooks: HookSettings } & KeySettings)

/** What a command needs that works on webhooks in place of a server. Null: that of the folder. */
export type HookSettings = Pick<DevSettings, "masterKey" | "egressAllow">

/** What the command line says of it. */
export type TargetFlags = DatabaseFlags & Flags<RemoteSettings & Pick<DevSettings, "data">>

const usage = (message: string) => Effect.fail(new CommandFailed({ message, reason: "usage" }))

const unnamed =
  "Where are the accounts? Set DATABASE_URL (or --database-url), MILLRACE_URL (or --url) to a " +
  "running server with its MILLRACE_ADMIN_TOKEN (or --admin-token), or --data to a folder of " +
  "millrace dev"

/** A running server, which has to be shown its token. */
const resolveServer = Effect.fnUntraced(function* (flags: TargetFlags) {
  const { adminToken, url } = yield* resolveAll<RemoteSettings>(
    { url: flags.url, adminToken: flags.adminToken },
    remoteVariables,
    { adminToken: null },
  )
  if (adminToken !== null) return { _tag: "Server", url, token: adminToken } as const
  return yield* usage(
    "MILLRACE_ADMIN_TOKEN (or --admin-token): expected the token that the server was started with",
  )
})

/**
 * Where a command finds accounts and keys: what was typed, else what a variable names; refused
 * where nothing is named, or too much.
 */
export const resolveTarget = Effect.fnUntraced(function* (
  flags: TargetFlags,
): Effect.fn.Return<Target, CommandFailed> {
  const typed = (
    [
      ["--url", "url"],
      ["--database-url", "databaseUrl"],
      ["--data", "data"],
    ] as const
  ).filter(([, key]) => flags[key] !== undefined)
  if (typed.length > 1) {
    return yield* usage(`Name one place only: ${typed.map(([flag]) => flag).join(" or ")}`)
  }
  const isSet = (name: string) =>
    Effect.map(Effect.orDie(Config.option(Config.String(name))), Option.isSome)
  const chosen =
    typed[0]?.[1] ??
    ((yield* isSet("MILLRACE_URL")) ? "url" : undefined) ??
    ((yield* isSet("DATABASE_URL")) ? "databaseUrl" : undefined) ??
    ((yield* isSet("MILLRACE_DATA")) ? "data" : undefined)
  if (chosen === "url") return yield* resolveServer(flags)
  if (chosen === undefined) return yield* usage(unnamed)
  const hooks = yield* resolveAll<HookSettings>({}, hookVariables, defaults)
  if (chosen === "data") {
    const { keyPrefix } = defaults
    const folder = yield* resolveAll({ data: flags.data }, folderVariables, { keyPrefix })
    return { _tag: "Folder", ...folder, hooks }
  }
  return { _tag: "Database", settings: yield* resolveDatabase(flags), hooks }
})
