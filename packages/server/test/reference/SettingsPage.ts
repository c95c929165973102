/**
 * The page of all settings: variables and flags of servers and commands, and the options that
 * applications give.
 */
import { databaseDefaults, defaults, serveDefaults } from "../../src/Config.ts"
import type { Variable, Variables } from "../../src/internal/config/Variable.ts"
import {
  accountVariables,
  databaseVariables,
  devVariables,
  folderVariables,
  remoteVariables,
  serveVariables,
} from "../../src/internal/config/Variables.ts"
import { pageOf, plainComment, sourceText, table } from "./Table.ts"

/** What settings without a flag mean; a flag has its own text. */
const meanings: Readonly<Record<string, string>> = {
  MILLRACE_ADMIN_TOKEN:
    "The token of operators. Without it, `serve` has no `/api/admin/v1`, and `dev` makes a " +
    "token at each start",
  MILLRACE_ALLOWED_ORIGINS:
    "Origins of pages that may call `/api/console/v1` with the token of a session, never with " +
    "a cookie",
  MILLRACE_EGRESS_ALLOW: "Private networks that workflows and webhooks may call",
  MILLRACE_FRAME_ANCESTORS: "Origins whose pages may show the dashboard in a frame",
  MILLRACE_KEY_PREFIX: "The first characters of new API keys",
  MILLRACE_MASTER_KEY:
    "The key that encrypts secrets, signing secrets and headers of webhooks. Without it, " +
    "`dev` keeps one in its folder",
  MILLRACE_POSTGRES_PORTS: "Ports on which nodes may call public databases",
  MILLRACE_SMTP_PORTS: "Ports on which nodes may call public mail servers",
  MILLRACE_TRUSTED_PROXIES: "Proxies whose `X-Forwarded-For` is trusted",
  MILLRACE_VALUES_ENDPOINT:
    "The address of a server that speaks the protocol of S3; AWS by default",
  MILLRACE_VALUES_REGION: "The region of the bucket",
  OTEL_EXPORTER_OTLP_ENDPOINT:
    "A collector of OpenTelemetry, for spans and metrics over OTLP/HTTP with JSON",
  OTEL_EXPORTER_OTLP_HEADERS: "Headers of every request to it, for example with a key",
  OTEL_SERVICE_NAME: "What it calls the server",
}

type Defaults = Readonly<Record<string, unknown>>

const shown = (key: string, value: unknown): string => {
  if (value === null || (Array.isArray(value) && value.length === 0)) return "none"
  if (Array.isArray(value)) return `\`${value.join(",")}\``
  return key.endsWith("Millis") ? `\`${Number(value) / 1_000}s\`` : `\`${String(value)}\``
}

const rowOf = (key: string, variable: Variable<unknown>, usual: Defaults) => {
  const { expected, flag, missing, name } = variable
  const meaning = flag?.description ?? meanings[name]
  if (meaning === undefined) throw new Error(`SettingsPage: say what ${name} means`)
  const value = flag?.metavar === undefined ? "" : ` <${flag.metavar}>`
  const isMissing = !Object.hasOwn(usual, key)
  const asked = missing === undefined ? "" : "required"
  return [
    `\`${name}\``,
    flag === undefined ? "" : `\`--${flag.name}${value}\``,
    meaning,
    expected,
    isMissing ? asked : shown(key, usual[key]),
  ]
}

const rowsOf = (variables: object, usual: object): string =>
  table(
    ["Variable", "Flag", "What it is", "Allowed", "Default"],
    Object.entries(variables as Variables<Record<string, unknown>>).map(([key, variable]) =>
      rowOf(key, variable, usual as Defaults),
    ),
  )

/** The fields of an interface, from their comments. */
const fieldsOf = (path: string, name: string): string => {
  const [, body = ""] =
    new RegExp(`^export (?:interface|type) ${name}\\b[^]*?\\{\\n([^]*?)^\\}`, "m").exec(
      sourceText(path),
    ) ?? []
  const rows = Array.from(
    body.matchAll(/(?:\/\*\*((?:(?!\*\/)[^])*)\*\/\s*)?readonly (\w+)\??: (.*)\n/g),
    ([, comment = "", field = "", type = ""]) => {
      if (comment === "") throw new Error(`SettingsPage: say in ${path} what ${field} is`)
      return [`\`${field}\``, `\`${type}\``, plainComment(comment)]
    },
  )
  if (rows.length === 0) throw new Error(`SettingsPage: ${path} has no fields of ${name}`)
  return table(["Option", "Type", "What it is"], rows)
}

/** The page. */
export const settingsPage = () =>
  pageOf(
    "settings",
    "Settings",
    "A flag wins over a variable, a variable over a default. An empty variable counts as " +
      "unset. A " +
      "server warns about a variable that begins with `MILLRACE_` and that nothing reads. Every " +
      "[limit](limits.md) has a variable, too.",
    "## `millrace serve`",
    rowsOf(serveVariables, serveDefaults),
    "## `millrace dev`",
    rowsOf(devVariables, defaults),
    "## Commands that work on a database",
    rowsOf(databaseVariables, databaseDefaults),
    "## Commands that work on a running server",
    rowsOf(remoteVariables, {}),
    "## Commands that work within an account",
    rowsOf(accountVariables, {}),
    "## Commands that work on a folder",
    "The folder is that of a `millrace dev` that is not running.",
    rowsOf(folderVariables, defaults),
    "## Options of `createEngine`",
    "All have defaults. What is unknown, or of a wrong type, is refused.",
    fieldsOf("packages/millrace/src/EngineOptions.ts", "EngineOptions"),
    "## Options of `defineNode`",
    "`type`, `inputs`, `outputs` and `run` are required.",
    fieldsOf("packages/millrace/src/Declaration.ts", "NodeOptions"),
    "## Options of `egress`",
    fieldsOf("packages/millrace/src/EngineOptions.ts", "EgressOptions"),
    "## Options of `postgres`",
    "Beside them, give `url` or `pool`.",
    fieldsOf("packages/millrace/src/Store.ts", "PostgresOptions"),
    "## Options of `createClient`",
    fieldsOf("packages/api/src/internal/HttpTransport.ts", "ClientOptions"),
  )
