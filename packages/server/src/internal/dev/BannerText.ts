/**
 * The lines that `millrace dev` prints: its addresses, its store, and requests to paste.
 *
 * Guarantees: every `curl` works exactly as it is printed. Leaves out: printing.
 */
import type { Workflow } from "@millrace/core/domain/Workflow"
import { docsPath, healthPath } from "@millrace/http/Addresses"
import { signInAddress } from "@millrace/http/ConsoleSettings"
import { Redacted } from "effect"
import { countedAtMost } from "./StartupReport.ts"
import type { DevSettings } from "../../Config.ts"
import type { Colors } from "./Colors.ts"
import { version } from "../Version.ts"

/** The first line: an address that signs in, once. */
export const openLine = (origin: string, ticket: string, colors: Colors): string =>
  `  ${colors.bold(origin + signInAddress(ticket))}`

/** What runs, and what it is not for. */
export const titleLine = (colors: Colors): string => {
  const warning = colors.yellow("development mode, not for the internet")
  return `  ${colors.bold("millrace")} ${version}   ${warning}`
}

const row = (name: string, text: string, colors: Colors): string =>
  `  ${colors.dim(name.padEnd(11))}${text}`

const storeText = ({ data, memory }: DevSettings): string =>
  memory
    ? "in memory: nothing is kept when the server stops"
    : `${data} (embedded: survives a crash of the server, but not a power cut)`

/** The address for operators, and the admin token if this start has made it. */
const operatorLines = (origin: string, token: Redacted.Redacted | undefined, colors: Colors) => [
  row("Operators", `${origin}/api/admin/v1`, colors),
  ...(token === undefined
    ? []
    : [row("", `token until it stops: ${Redacted.value(token)}`, colors)]),
]

/** The addresses and the store. */
export const placeLines = (
  origin: string,
  settings: DevSettings,
  token: Redacted.Redacted | undefined,
  colors: Colors,
): ReadonlyArray<string> => [
  row("API", `${origin}/api/v1`, colors),
  row("Reference", origin + docsPath, colors),
  ...operatorLines(origin, token, colors),
  row("Store", storeText(settings), colors),
]

/** In single quotes, if a shell would change the text without them. */
const quoted = (text: string): string => (/^[\w:/.-]+$/.test(text) ? text : `'${text}'`)

const curl = (url: string, ...options: ReadonlyArray<string>): string =>
  ["curl", ...options, quoted(url)].join(" ")

const bearer = (secret: string): string => `-H "Authorization: Bearer ${secret}"`

const startBody = (workflow: Workflow): string =>
  `-H "Content-Type: application/json" -d '{"workflowId":"${workflow.id}"}'`

/** The new key, and requests that use it. */
export const keyLines = (
  origin: string,
  secret: string,
  hello: Workflow | undefined,
  colors: Colors,
): ReadonlyArray<string> => [
  "  Your API key, shown only this once:",
  `    ${colors.bold(secret)}`,
  "  List the runs:",
  `    ${curl(`${origin}/api/v1/runs`, bearer(secret))}`,
  ...(hello === undefined
    ? []
    : [
        `  Run ${hello.name}:`,
        `    ${curl(`${origin}/api/v1/runs`, bearer(secret), startBody(hello))}`,
      ]),
]

const counted = (count: number, noun: string): string => {
  const text = count >= countedAtMost ? `${countedAtMost} or more` : String(count)
  return `${text} ${noun}${count === 1 ? "" : "s"}`
}

/** What the store held before this start. */
export const keptLine = (
  { runs, unfinished, workflows }: Readonly<Record<"workflows" | "runs" | "unfinished", number>>,
  colors: Colors,
): string => {
  const rest = unfinished === 0 ? "" : `; ${counted(unfinished, "interrupted run")} will go on`
  return row("kept:", `${counted(workflows, "workflow")}, ${counted(runs, "run")}${rest}`, colors)
}

/** How to call a server whose first start has printed the key. */
export const hintLines = (
  origin: string,
  token: Redacted.Redacted | undefined,
): ReadonlyArray<string> => [
  "  Check that it answers:",
  `    ${curl(origin + healthPath)}`,
  "  List the runs, with the key that the first start printed:",
  `    ${curl(`${origin}/api/v1/runs`, bearer("<key>"))}`,
  "  To make another key:",
  `    npx millrace keys create --label another --url ${origin} --admin-token ${
    token === undefined ? "<token>" : Redacted.value(token)
  }`,
]
