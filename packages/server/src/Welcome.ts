/**
 * What a server says when everything answers: the first time it makes what a newcomer needs and
 * shows a workflow run, later it tells what was kept.
 *
 * Guarantees: a key is shown in the start that makes it, and never again.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { Workflow } from "@millrace/core/domain/Workflow"
import { Runs } from "@millrace/core/engine/Runs"
import { Console, Effect, Redacted } from "effect"
import * as Census from "./Census.ts"
import type { DevSettings } from "./Config.ts"
import { diamond } from "./demo/Diamond.ts"
import { digestLines } from "./demo/Digest.ts"
import { hello } from "./demo/Hello.ts"
import { orderDigest } from "./demo/OrderDigest.ts"
import { ordersPath } from "./demo/Orders.ts"
import * as Greeting from "./Greeting.ts"
import type { Paint } from "./Paint.ts"
import { follow } from "./RunView.ts"
import * as Seed from "./Seed.ts"

/** What there is to say something about. */
export interface Host {
  readonly settings: DevSettings
  /** Where the server is reached. */
  readonly origin: string
  readonly paint: Paint
  /** What operators show, where this start has made it up. */
  readonly token: Redacted.Redacted | undefined
  /** How many runs an earlier process left behind. */
  readonly unfinished: number
}

const print = (...lines: ReadonlyArray<string>) =>
  Effect.forEach(lines, (line) => Console.log(line), { discard: true })

/** Runs the order digest for everybody to see. */
const demonstrate = Effect.fnUntraced(function* (
  { origin, paint }: Host,
  account: Account,
  workflow: Workflow,
) {
  const run = yield* (yield* Runs).start(account.id, { workflowId: workflow.id })
  const title = `${paint.bold(workflow.name)} of ${origin}${ordersPath}`
  yield* print("", `  ${title}  ${paint.dim(run.id)}`)
  const ended = yield* follow(run, paint)
  if (ended.run.status !== "COMPLETED") return
  yield* print("", ...digestLines(ended.run.output, paint))
})

/** Makes the example workflows, runs the last one and returns the first. */
const seedExamples = Effect.fnUntraced(function* (host: Host, account: Account) {
  const first = yield* Seed.ensureWorkflow(account, hello)
  yield* Seed.ensureWorkflow(account, diamond)
  yield* demonstrate(host, account, yield* Seed.ensureWorkflow(account, orderDigest))
  return first
})

const firstStart = Effect.fnUntraced(function* (host: Host, account: Account) {
  const { origin, paint, settings, token } = host
  const greeting = settings.seed ? yield* seedExamples(host, account) : undefined
  const { secret } = yield* Seed.createKey(account)
  yield* print("", ...Greeting.placeLines(origin, settings, token, paint))
  yield* print("", ...Greeting.keyLines(origin, Redacted.value(secret), greeting, paint))
})

const laterStart = Effect.fnUntraced(function* (host: Host, account: Account) {
  const { origin, paint, settings, token, unfinished } = host
  const kept = { ...(yield* Census.countOf(account)), unfinished }
  yield* print("", ...Greeting.placeLines(origin, settings, token, paint))
  yield* print(Greeting.keptLine(kept, paint), "", ...Greeting.hintLines(origin, token))
})

/** Makes what is missing, and prints everything there is to say. */
export const welcome = Effect.fnUntraced(function* (host: Host) {
  yield* print(Greeting.titleLine(host.paint))
  const account = yield* Seed.ensureAccount
  const isNew = yield* Seed.isNew(account)
  yield* isNew ? firstStart(host, account) : laterStart(host, account)
  yield* print("", `  ${host.paint.dim("Ctrl-C stops the server")}`)
})
