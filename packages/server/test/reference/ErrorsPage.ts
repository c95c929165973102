/**
 * The page of all errors: the code for programs, the status over HTTP, and what to do.
 */
import type { ErrorCode } from "@millrace/api/MillraceError"
import * as Wire from "@millrace/api/WireError"
import { pageOf, sourceText, table } from "./Table.ts"

const advice: Readonly<Record<ErrorCode, string>> = {
  ACCOUNT_NOT_FOUND:
    "No account has this id or name. List them, or make one with `accounts.create`.",
  DELIVERY_NOT_FOUND: "The account has no such delivery, or it ended more than three days ago.",
  KEY_NOT_FOUND: "No live API key has this id or label. List the keys.",
  RUN_NOT_FOUND: "The account has no such run. Check the id, and whose request it is.",
  VALUE_NOT_FOUND:
    "The run has no large value there. Read the run again and take its `largeValues`.",
  SECRET_NOT_FOUND: "The account has no secret of this name. List the secrets.",
  WORKFLOW_NOT_FOUND: "The account has no such workflow. Check the id, and whose request it is.",
  VERSION_NOT_FOUND:
    "The workflow has no such version, or has forgotten it. List the versions that are kept.",
  NODE_NOT_FOUND: "The run or workflow has no such node; the sentence names it. Check the id.",
  NOT_IN_QUARANTINE: "The run is not in quarantine, or not any more. Nothing is left to do.",
  REVISION_MISMATCH:
    "Somebody changed the workflow after you had read it. Read it again, and decide again.",
  TOO_MANY_CHANGES:
    "Too many changes of this workflow wait, or others were always faster. Send fewer at " +
    "once; try again.",
  RUN_ENDED: "The run has ended, so it can neither be canceled nor get a signal.",
  INBOX_FULL:
    "The run has 100 signals that no node has taken. Send again once a node has taken one.",
  SIGNALS_FULL:
    "The workflow has 1,000 signals for which no run waits. Send again once a run has taken one.",
  APPROVAL_NOT_FOUND: "The run has no node of this id that asks a person.",
  APPROVAL_OVER:
    "Somebody has decided already, the time is over, or the link was passed on. The sentence " +
    "says which; nothing was changed.",
  RUN_OPEN: "The run goes on. Wait for its end, or cancel it, and take it up again then.",
  IDEMPOTENCY_KEY_TAKEN:
    "The same key was given to another start within 24 hours. Give each start a key of its own.",
  LABEL_TAKEN: "A live API key of the account has this label. Choose another, or revoke that key.",
  TOO_MANY_KEYS: "The account has as many live API keys as it may have. Revoke one.",
  TOO_MANY_SECRETS: "The account has as many secrets as it may have. Remove one.",
  INSUFFICIENT_CREDITS: "The credits do not cover the run. Grant credits, or start a cheaper run.",
  RUNS_FULL:
    'The start says `whenFull: "refuse"`, and its run would have to wait. Start it again later.',
  QUEUE_FULL: "As many runs of the account wait as may. Start again when some have begun.",
  BEYOND_MAX_CREDITS: "The run is expected to cost more than `maxCredits` of its start. Raise it.",
  INVALID_GRAPH: "The drawing has problems; `problems` has a sentence for each. Mend them.",
  INVALID_KEY: "The settings of an API key are wrong; the sentence says which.",
  INVALID_REQUEST: "The call, an option or the request is wrong; the sentence names the place.",
  INVALID_SECRET: "The name, the value or a host of a secret is wrong; the sentence says why.",
  INVALID_WEBHOOK:
    "The webhook of a start is wrong, or its address is not allowed; see the sentence.",
  STORE_UNAVAILABLE:
    "The store does not answer, or cannot do this. Try again: a start may have happened, so " +
    "give it an " +
    "idempotency key.",
  VAULT_CLOSED: "There is no master key, or not the one that sealed this. Configure it.",
  DATA_FILE_DAMAGED: "The file of SQLite is damaged. Restore it from a backup.",
  DATA_FILE_FOREIGN: "The file is something else. Name another file.",
  DATA_FILE_LOCKED: "Another engine has the file open. Close that one; one engine opens a file.",
  DATA_FOLDER_DAMAGED: "The folder of PGlite is damaged. Restore it from a backup.",
  DATA_FOLDER_FOREIGN: "The folder holds something else. Name another folder.",
  DATA_FOLDER_LOCKED:
    "Another engine has the folder open. Close that one; one engine opens a folder.",
  ENGINE_CLOSED: "The engine was closed before the call ended. Make calls first, and close last.",
  INTERNAL_ERROR: "A fault of ours. The log has its cause, by `requestId`. Please report it.",
  TIMEOUT: "The time that you gave to `wait` is over. The run goes on; wait again.",
  KEY_REFUSED: "The API key is missing, wrong, revoked or expired.",
  SESSION_REFUSED: "There is no session, or it was revoked, expired or idle for too long.",
  TICKET_REFUSED: "The sign-in link was used before, or is older than ten minutes.",
  FORBIDDEN: "The session has not the role that is needed, or sees only some workflows.",
  CROSS_SITE: "A page of another site sent a change with the cookie of a session.",
  WRONG_HOST: "The console answers on this machine only, and the request names another host.",
  TRIGGER_NOT_FOUND: "The workflow has no such trigger. List its triggers.",
  TOO_MANY_TRIGGERS: "The workflow has as many triggers as it may have. Remove one.",
  INVALID_TRIGGER: "The times of a schedule are wrong, or it has none; the sentence says why.",
  SESSION_NOT_FOUND: "The account has no such session.",
  INVALID_SESSION: "A field of the new session is outside its bounds, or beyond its maker's.",
  TOO_MANY_SESSIONS: "The account has as many live sessions as it may.",
  SIGN_IN_REFUSED: "`authorize` of the application did not grant the request.",
  SENDER_REFUSED:
    "The sender of an inbound webhook signs otherwise than `verify` says, or with another " +
    "secret, or its clock is wrong. Compare both.",
  TOKEN_REFUSED: "The admin token is missing or wrong.",
  LIMIT_EXCEEDED: "The API key has used up a limit. Wait as long as `retryAfterSeconds` says.",
  TOO_MANY_BAD_TOKENS: "Too many bad keys came from this address. Wait as long as it says.",
  TOO_MANY_STREAMS: "Too many streams of events are open. Close some, or try again in 5 seconds.",
  BODY_TOO_LARGE: "The body has more bytes than `limits.bodyBytes`. Send less.",
  UNSUPPORTED_MEDIA_TYPE: "Send `Content-Type: application/json`.",
  UNSUPPORTED_CONTENT_ENCODING: "Do not compress the body.",
  UNKNOWN_ROUTE: "There is nothing at this address. Check the path, and `basePath`.",
  METHOD_NOT_ALLOWED: "The address does not have this method; `Allow` lists those that it has.",
  SHUTTING_DOWN: "The server is stopping. Try again; another server answers.",
  UNEXPECTED_ANSWER:
    "What answered is no Millrace server, or something between changed the answer.",
}

/** The status that a class of the interface declares. */
const statusOf = (name: string): string => {
  const found = (Wire as unknown as Readonly<Record<string, typeof Wire.NotFound>>)[name]
  return String(found?.ast.annotations?.["httpApiStatus"])
}

/** The statuses of each code, as the table of refusals has them. */
const statuses = (): ReadonlyMap<string, ReadonlySet<string>> => {
  const text = sourceText("packages/http/src/Errors.ts").replace(/[^]*const forms = /, "")
  const found = new Map<string, Set<string>>()
  const add = (code: string, status: string) => {
    const name = code.toUpperCase()
    found.set(name, (found.get(name) ?? new Set()).add(status))
  }
  for (const [, code = "", name = ""] of text.matchAll(/(?:says|told)\(\s*"(\w+)",\s*Wire\.(\w+)/g))
    add(code, statusOf(name))
  for (const [, code = ""] of text.matchAll(/retried\("(\w+)"/g))
    add(code, statusOf("TooManyRequests"))
  for (const [, code = "", form = ""] of text.matchAll(/code: "(\w+)",([^]*?)\n {2}\}/g))
    for (const [, name = ""] of form.matchAll(/new Wire\.(\w+)/g)) add(code, statusOf(name))
  return found
}

/** The page. */
export const errorsPage = () => {
  const found = statuses()
  const known = Object.keys(advice)
  const other = [...found.keys()].filter((code) => !known.includes(code))
  if (other.length > 0) throw new Error(`ErrorsPage: say what to do about ${other.join(", ")}`)
  return pageOf(
    "errors",
    "Errors, and what to do",
    "Every call of `millrace` and `millrace/client` rejects with a `MillraceError`: " +
      "`message` is one " +
      'sentence, `code` is one of these. Over HTTP, the body is `{ "error": "<the ' +
      'sentence>" }`, and ' +
      "the header `X-Error-Code` has the code in lower case. Codes without a status do not " +
      "come over " +
      "HTTP. Decide by the code; sentences change.",
    table(
      ["Code", "Status", "What it means, and what to do"],
      Object.entries(advice).map(([code, text]) => [
        `\`${code}\``,
        [...(found.get(code) ?? [])].join(", "),
        text,
      ]),
    ),
  )
}
