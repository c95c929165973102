/**
 * What `millrace dev` prints when it is ready. The first start makes an account, a key and example
 * workflows, and runs one of them. Later starts print what the store holds.
 *
 * Guarantees: only the start that makes a key prints it.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { Workflow } from "@millrace/core/domain/Workflow"
import { Runs } from "@millrace/core/engine/Runs"
import { Console, Effect, Redacted } from "effect"
import * as StartupReport from "./StartupReport.ts"
import type { DevSettings } from "../../Config.ts"
import { diamond } from "../demo/Diamond.ts"
import { digestLines } from "../demo/Digest.ts"
import { hello } from "../demo/Hello.ts"
import { orderDigest } from "../demo/OrderDigest.ts"
import { ordersPath } from "../demo/Orders.ts"
import * as BannerText from "./BannerText.ts"
import type { Colors } from "./Colors.ts"
import { follow } from "./RunView.ts"
import * as Seed from "./Seed.ts"

/** The server that the banner is about. */
export interface Host {
  readonly settings: DevSettings
  /** The server's address: `http://127.0.0.1:7411`. */
  readonly origin: string
  readonly colors: Colors
  /** The admin token, if this start has made it. */
  readonly token: Redacted.Redacted | undefined
  /** How many runs an earlier process left behind. */
  readonly unfinished: number
}

const print = (...lines: ReadonlyArray<string>) =>
  Effect.forEach(lines, (line) => Console.log(line), { discard: true })

/** Runs the order digest and prints its nodes as they end. */
const demonstrate = Effect.fnUntraced(function* (
  { origin, colors }: Host,
  account: Account,
  workflow: Workflow,
) {
  const run = yield* (yield* Runs).start(account.id, { workflowId: workflow.id })
  const title = `${colors.bold(workflow.name)} of ${origin}${ordersPath}`
  yield* print("", `  ${title}  ${colors.dim(run.id)}`)
  const ended = yield* follow(run, colors)
  if (ended.run.status !== "COMPLETED") return
  yield* print("", ...digestLines(ended.run.output, colors))
})

/** Makes the example workflows, runs the last one and returns the first. */
const seedExamples = Effect.fnUntraced(function* (host: Host, account: Account) {
  const first = yield* Seed.ensureWorkflow(account, hello)
  yield* Seed.ensureWorkflow(account, diamond)
  yield* demonstrate(host, account, yield* Seed.ensureWorkflow(account, orderDigest))
  return first
})

const firstStart = Effect.fnUntraced(function* (host: Host, account: Account) {
  const { origin, colors, settings, token } = host
  const greeting = settings.seed ? yield* seedExamples(host, account) : undefined
  const { secret } = yield* Seed.createKey(account)
  yield* print("", ...BannerText.placeLines(origin, settings, token, colors))
  yield* print("", ...BannerText.keyLines(origin, Redacted.value(secret), greeting, colors))
})

const laterStart = Effect.fnUntraced(function* (host: Host, account: Account) {
  const { origin, colors, settings, token, unfinished } = host
  const kept = { ...(yield* StartupReport.countOf(account)), unfinished }
  yield* print("", ...BannerText.placeLines(origin, settings, token, colors))
  yield* print(BannerText.keptLine(kept, colors), "", ...BannerText.hintLines(origin, token))
})

/** Makes what is missing, and prints the banner. */
export const banner = Effect.fnUntraced(function* (host: Host) {
  const account = yield* Seed.ensureAccount
  const { ticket } = yield* Seed.linkOwner(account)
  yield* print(BannerText.openLine(host.origin, Redacted.value(ticket), host.colors))
  yield* print(BannerText.titleLine(host.colors))
  const isNew = yield* Seed.isNew(account)
  yield* isNew ? firstStart(host, account) : laterStart(host, account)
  yield* print("", `  ${host.colors.dim("Ctrl-C stops the server")}`)
})
