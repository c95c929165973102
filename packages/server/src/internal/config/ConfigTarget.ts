/**
 * Where an admin command finds accounts and keys: flags first, then variables.
 *
 * Guarantees: nothing is guessed; a command line that names two places is refused. Leaves out:
 * checking that something is there.
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
  ServeSettings,
} from "./Settings.ts"
import { folderVariables, hookVariables, remoteVariables } from "./Variables.ts"

/** The place that a command works on: a running server, a database, or a folder of `dev`. */
export type ConfigTarget =
  | { readonly _tag: "Server"; readonly url: string; readonly token: Redacted.Redacted }
  | LocalTarget

/** A place whose data the command opens itself. */
export type LocalTarget =
  | { readonly _tag: "Database"; readonly settings: DatabaseSettings; readonly hooks: HookSettings }
  | ({ readonly _tag: "Folder"; readonly data: string; readonly hooks: HookSettings } & KeySettings)

/**
 * What a command on the data itself needs for webhooks, and for links. No master key: the folder's
 * own.
 */
export type HookSettings = Pick<DevSettings, "masterKey" | "egressAllow"> &
  Pick<ServeSettings, "publicUrl">

/** The flags that name the place. */
export type TargetFlags = DatabaseFlags & Flags<RemoteSettings & Pick<DevSettings, "data">>

const unnamed =
  "No place with accounts is named. For a database, set DATABASE_URL (or --database-url); for a " +
  "running server, MILLRACE_URL and MILLRACE_ADMIN_TOKEN (or --url and --admin-token); for a " +
  "folder of millrace dev, --data"

/** A running server with its admin token. */
const resolveServer = Effect.fnUntraced(function* (flags: TargetFlags) {
  const { adminToken, url } = yield* resolveAll<RemoteSettings>(
    { url: flags.url, adminToken: flags.adminToken },
    remoteVariables,
    { adminToken: null },
  )
  if (adminToken !== null) return { _tag: "Server", url, token: adminToken } as const
  return yield* CommandFailed.usage(
    "MILLRACE_ADMIN_TOKEN (or --admin-token): expected the token that the server was started with",
  )
})

/**
 * Where a command finds accounts and keys: the place that a flag names, else a variable. Fails if
 * no place is named, or if flags name two.
 */
export const resolveTarget = Effect.fnUntraced(function* (
  flags: TargetFlags,
): Effect.fn.Return<ConfigTarget, CommandFailed> {
  const typed = (
    [
      ["--url", "url"],
      ["--database-url", "databaseUrl"],
      ["--data", "data"],
    ] as const
  ).filter(([, key]) => flags[key] !== undefined)
  if (typed.length > 1) {
    return yield* CommandFailed.usage(
      `Name one place only: ${typed.map(([flag]) => flag).join(" or ")}`,
    )
  }
  const isSet = (name: string) =>
    Effect.map(Effect.orDie(Config.option(Config.String(name))), Option.isSome)
  const chosen =
    typed[0]?.[1] ??
    ((yield* isSet("MILLRACE_URL")) ? "url" : undefined) ??
    ((yield* isSet("DATABASE_URL")) ? "databaseUrl" : undefined) ??
    ((yield* isSet("MILLRACE_DATA")) ? "data" : undefined)
  if (chosen === "url") return yield* resolveServer(flags)
  if (chosen === undefined) return yield* CommandFailed.usage(unnamed)
  const hooks = yield* resolveAll<HookSettings>({}, hookVariables, {
    ...defaults,
    publicUrl: null,
  })
  if (chosen === "data") {
    const { keyPrefix } = defaults
    const folder = yield* resolveAll({ data: flags.data }, folderVariables, { keyPrefix })
    return { _tag: "Folder", ...folder, hooks }
  }
  return { _tag: "Database", settings: yield* resolveDatabase(flags), hooks }
})
