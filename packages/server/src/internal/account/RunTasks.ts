/**
 * The work of `millrace runs`: a client of a running server, with a key of the account. It may do
 * what the key may do.
 *
 * Guarantees: the key goes only to the named address. Every failure is one sentence. Standard
 * output has the result alone.
 */
import type { Client, RerunFailedRequest } from "@millrace/api/PromiseClient"
import { createClient, MillraceError } from "@millrace/api/PromiseClient"
import type { Json } from "@millrace/core/domain/Json"
import { Console, Effect, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { CommandFailed } from "../../CommandFailed.ts"
import type { AccountSettings } from "../config/Settings.ts"

/** Where a command works, and how it prints. */
export interface Session extends AccountSettings {
  /** True if JSON is to be printed. */
  readonly json: boolean
}

const explain = (url: string, error: unknown): string => {
  if (!(error instanceof MillraceError)) return `The server at ${url} does not answer`
  return error.code === "UNEXPECTED_ANSWER"
    ? `The answer of ${url} does not come from a Millrace server; check the address`
    : error.message
}

/** What the server answers. */
export const ask = <A>({ apiKey, url }: Session, operation: (client: Client) => Promise<A>) =>
  Effect.tryPromise({
    try: () =>
      operation(
        createClient({
          url,
          apiKey: Redacted.value(apiKey),
          fetch: (request) => fetch(request, { redirect: "error" }),
        }),
      ),
    catch: (error) => CommandFailed.failed(explain(url, error)),
  })

/** What `--data`, or another flag, means: JSON, or a file with JSON behind an `@`. */
export const readData = Effect.fnUntraced(function* (typed: string, flag = "--data") {
  const path = typed.startsWith("@") ? typed.slice(1) : undefined
  const text =
    path === undefined
      ? typed
      : yield* Effect.tryPromise({
          try: () => readFile(path, "utf8"),
          catch: () => CommandFailed.usage(`${flag}: the file ${path} cannot be read`),
        })
  return yield* Effect.try({
    try: () => JSON.parse(text) as Json,
    catch: () => {
      const what = path === undefined ? "the text" : `the file ${path}`
      return CommandFailed.usage(`${flag}: ${what} is not JSON; a text needs its quotes: '"yes"'`)
    },
  })
})

/** What `millrace runs signal` sends. */
export interface SignalRequest {
  readonly run: string
  readonly name: string
  readonly data: string | undefined
  readonly idempotencyKey: string | undefined
}

/** `millrace runs signal`: prints the run's id, or the answer as JSON. */
export const signal = Effect.fnUntraced(function* (session: Session, request: SignalRequest) {
  const { data, idempotencyKey, name, run } = request
  const payload = data === undefined ? null : yield* readData(data)
  const options = idempotencyKey === undefined ? {} : { idempotencyKey }
  const sent = yield* ask(session, ({ runs }) => runs.signal(run, name, payload, options))
  if (session.json) return yield* Console.log(JSON.stringify(sent))
  yield* Console.error(`Run ${sent.runId} has the signal "${name}"`)
  yield* Console.log(sent.runId)
})

/** What `millrace runs approve` and `reject` decide. */
export interface DecisionRequest {
  readonly run: string
  readonly node: string
  readonly outcome: "approved" | "rejected"
  readonly by: string | undefined
  readonly comment: string | undefined
  readonly fields: string | undefined
}

/** `millrace runs approve` and `reject`: prints the run's id, or the answer as JSON. */
export const decide = Effect.fnUntraced(function* (session: Session, request: DecisionRequest) {
  const { by, comment, fields, node, outcome, run } = request
  const decision = {
    outcome,
    ...(by === undefined ? {} : { by }),
    ...(comment === undefined ? {} : { comment }),
    ...(fields === undefined ? {} : { fields: (yield* readData(fields, "--fields")) as {} }),
  }
  const made = yield* ask(session, ({ approvals }) => approvals.decide(run, node, decision))
  if (session.json) return yield* Console.log(JSON.stringify(made))
  yield* Console.error(`Node "${node}" of run ${run} is ${made.outcome}, by ${made.by}`)
  yield* Console.log(run)
})

/** `millrace runs rerun-failed`: prints the ids of the runs, or the answer as JSON. */
export const rerunFailed = Effect.fnUntraced(function* (
  session: Session,
  request: RerunFailedRequest,
  idempotencyKey: string | undefined,
) {
  const options = idempotencyKey === undefined ? {} : { idempotencyKey }
  const done = yield* ask(session, ({ runs }) => runs.rerunFailed(request, options))
  if (session.json) return yield* Console.log(JSON.stringify(done))
  const { leftOut, nextCursor, started } = done
  for (const { message, rerunId, runId } of leftOut) {
    const why = rerunId === undefined ? message : `it has the rerun ${rerunId}`
    yield* Console.error(`Run ${runId} is left out: ${why}`)
  }
  if (started.length === 0) yield* Console.error("No run was taken up again")
  else yield* Console.log(started.map(({ runId }) => runId).join("\n"))
  if (nextCursor !== null) yield* Console.error(`There are more: go on with --cursor ${nextCursor}`)
})
