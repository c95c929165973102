/**
 * A start of a run as a command for a terminal.
 *
 * Guarantees: whatever the values hold, a shell hands them on as they are. Leaves out: the API key,
 * which the command takes from the environment.
 */

/** What to start. */
export interface StartToCopy {
  readonly workflowId: string
  readonly values?: unknown
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The start as a command with curl. `url` is the address of the server, without `/api/v1`. */
export const curlOf = (url: string, { values, workflowId }: StartToCopy): string =>
  [
    `curl -X POST ${quoted(`${url.replace(/\/+$/, "")}/api/v1/runs`)}`,
    `-H "Authorization: Bearer $MILLRACE_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify({ workflowId, values }))}`,
  ].join(" \\\n  ")
