/**
 * The dashboard of an engine: its files, and the sign-in of the application in the place of links.
 *
 * Guarantees: an engine without it loads nothing for it. What the application grants is asked for
 * with every request. Leaves out: where it is mounted; that is `basePath`.
 */
import { invalid } from "@millrace/api/MillraceError"
import { AccountRole, SessionWorkflows } from "@millrace/core/domain/Session"
import type { AskForGrant } from "@millrace/http/ConsoleSettings"
import { CurrentConsole, isFrameOrigin } from "@millrace/http/ConsoleSettings"
import type { ReadDashboardFile } from "@millrace/http/Dashboard"
import { DashboardFiles } from "@millrace/http/Dashboard"
import { Context, Effect, Schema } from "effect"
import type { RequestOwner } from "./Authorize.ts"
import * as Authorization from "./Authorize.ts"
import type { Check } from "./internal/OptionCheck.ts"
import { expected, fields, isFunction, listOf } from "./internal/OptionCheck.ts"

/** What whoever sent a request may see and do in the dashboard. */
export type DashboardGrant = RequestOwner & {
  /** A viewer reads, an editor also draws and runs, an owner also has keys, secrets, sessions. */
  readonly role: "viewer" | "editor" | "owner"
  /** The ids of the workflows that they see, at most 100, with their runs; all by default. */
  readonly workflows?: ReadonlyArray<string>
  /** The person's name or id in the application, to tell the people of an account apart. */
  readonly user?: string
  /** What others of the account are told who has the same workflow open; else only the role. */
  readonly name?: string
}

type Found = DashboardGrant | null | undefined

/** How the dashboard is opened. */
export interface DashboardOptions {
  /**
   * The sign-in of the application decides, in the place of sign-in links: it gets address and
   * headers of every request of the dashboard. Nothing, and an error that is thrown, is nobody.
   */
  readonly authorize?: (request: Request) => Found | Promise<Found>
  /**
   * Origins whose pages may show the dashboard in a frame: `https://app.example.com`. None by
   * default. Its cookie reaches frames of the same site only.
   */
  readonly frameAncestors?: ReadonlyArray<string>
}

const isOptions = fields(
  {
    authorize: isFunction,
    frameAncestors: listOf(expected("an origin such as https://app.example.com", isFrameOrigin)),
  },
  "true, false, or an object with options",
)

/** What is wrong with the option `dashboard`. */
export const check: Check = (value) => (typeof value === "boolean" ? [] : isOptions(value))

type Option = boolean | DashboardOptions | undefined

/** Loads the package, or says what is missing. */
const importDashboard = async () => {
  try {
    return await import("@millrace/dashboard")
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    const isMissing = code === "ERR_MODULE_NOT_FOUND" && message.includes("@millrace/dashboard")
    if (!isMissing) throw error
    throw invalid("dashboard: it needs @millrace/dashboard: npm install @millrace/dashboard")
  }
}

/** What reads the files; `undefined` if there is no dashboard. */
export const load = async (option: Option): Promise<ReadDashboardFile | undefined> => {
  if (option === undefined || option === false) return undefined
  const { readDashboardFile } = await importDashboard()
  return (path) => Effect.promise(() => readDashboardFile(path))
}

const isGrant = Schema.is(
  Schema.Struct({
    role: AccountRole,
    workflows: Schema.optional(SessionWorkflows),
    user: Schema.optional(Schema.String),
    name: Schema.optional(Schema.String),
  }),
)

/** Asks the application what somebody may do. What is no grant is none, and a line in the log. */
const makeGrant = (authorize: NonNullable<DashboardOptions["authorize"]>) =>
  Effect.map(Authorization.makeOwnerOf(authorize), (ask): AskForGrant =>
    Effect.fnUntraced(function* (request) {
      const found = yield* ask(request)
      if (found === undefined) return null
      const { name, role, user, workflows } = found.said
      const given = { role, workflows, user, name }
      if (!isGrant(given)) {
        yield* Effect.logWarning("dashboard.authorize: no role, or workflows that are none")
        return null
      }
      return {
        accountId: found.id,
        role: given.role,
        workflows: given.workflows ?? null,
        user: given.user ?? null,
        name: given.name,
      }
    }),
  )

/** What says how browsers reach the console. */
interface Reached {
  readonly dashboard?: Option
  readonly allowedOrigins?: ReadonlyArray<string>
}

/** The settings of the HTTP interface for these options. */
export const settingsOf = Effect.fnUntraced(function* (options: Reached) {
  const { allowedOrigins, dashboard: option } = options
  const files = yield* Effect.promise(() => load(option))
  const { authorize, frameAncestors } = typeof option === "object" ? option : {}
  const grant = authorize === undefined ? undefined : yield* makeGrant(authorize)
  return Context.make(DashboardFiles, files).pipe(
    Context.add(CurrentConsole, { onLoopback: false, grant, frameAncestors, allowedOrigins }),
  )
})
