/**
 * Where browsers reach the console: its origin, and the path that answers name.
 */
import { BasePath } from "@millrace/http/Addresses"
import { CurrentConsole } from "@millrace/http/ConsoleSettings"
import { Layer } from "effect"
import type { ServeSettings } from "../config/Settings.ts"

type Settings = Pick<ServeSettings, "publicUrl"> &
  Partial<Pick<ServeSettings, "allowedOrigins" | "frameAncestors">>

/** The settings of the console behind this address; `null`: under any. */
export const layer = ({ allowedOrigins, frameAncestors, publicUrl }: Settings) => {
  const known = publicUrl === null ? undefined : new URL(publicUrl)
  return Layer.merge(
    Layer.succeed(CurrentConsole, {
      onLoopback: false,
      frameAncestors,
      allowedOrigins,
      publicOrigin: known?.origin,
    }),
    Layer.succeed(BasePath, known?.pathname.replace(/\/$/, "") ?? ""),
  )
}
