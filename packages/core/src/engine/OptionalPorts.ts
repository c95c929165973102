/**
 * Replacements for the optional ports that a store does not have.
 *
 * Guarantees: every call of a replacement fails with one sentence. Nothing else of the engine is
 * affected.
 */
import { Context, Effect, Layer, Option } from "effect"
import { KeyStore } from "../ports/KeyStore.ts"
import { LedgerStore } from "../ports/LedgerStore.ts"
import { SecretStore } from "../ports/SecretStore.ts"
import { SessionStore } from "../ports/SessionStore.ts"
import { StorageError } from "../ports/StorageError.ts"
import type { OptionalPort } from "../ports/StoreManifest.ts"
import { StoreManifest, Unsupported } from "../ports/StoreManifest.ts"
import { TriggerStore } from "../ports/TriggerStore.ts"
import { ValueStore } from "../ports/ValueStore.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"

/** The members of a port, each with whether it takes arguments. */
type Members<S> = {
  readonly [K in keyof S]: S[K] extends (...args: never) => unknown ? "method" : "effect"
}

const keys: Members<KeyStore["Service"]> = {
  admit: "method",
  insert: "method",
  update: "method",
  revoke: "method",
  list: "method",
  insertAccount: "method",
  findAccount: "method",
  updateAccount: "method",
  listAccounts: "effect",
}

const ledger: Members<LedgerStore["Service"]> = {
  find: "method",
  grant: "method",
  adjust: "method",
  meter: "method",
  statement: "method",
  usage: "method",
  accounts: "effect",
  audit: "method",
}

const webhooks: Members<WebhookStore["Service"]> = {
  claimDue: "method",
  claim: "method",
  record: "method",
  insert: "method",
  list: "method",
  find: "method",
  redeliver: "method",
  redeliverFailed: "method",
  forget: "method",
  secrets: "method",
  secretOfEachKey: "effect",
  sealedOtherwise: "method",
  reseal: "method",
  ensureSecret: "method",
  rotateSecret: "method",
}

const secrets: Members<SecretStore["Service"]> = {
  put: "method",
  remove: "method",
  list: "method",
  find: "method",
  markUsed: "method",
  users: "method",
  secretOfEachKey: "effect",
  sealedOtherwise: "method",
  reseal: "method",
}

const values: Members<ValueStore["Service"]> = {
  put: "method",
  read: "method",
  remove: "method",
  list: "method",
}

const sessions: Members<SessionStore["Service"]> = {
  insert: "method",
  insertTicket: "method",
  redeem: "method",
  admit: "method",
  live: "method",
  list: "method",
  revoke: "method",
  revokeAll: "method",
  forget: "effect",
}

const triggers: Members<TriggerStore["Service"]> = {
  insert: "method",
  replace: "method",
  remove: "method",
  find: "method",
  findByAddress: "method",
  list: "method",
  claimDue: "method",
  advance: "method",
  finish: "method",
  beginTest: "method",
  endTest: "method",
  findTest: "method",
  findByTestAddress: "method",
  noteRequest: "method",
  pause: "method",
  resume: "method",
  pausedAt: "method",
}

/** A port whose every method fails. */
const refusing = <S>(members: Members<S>, store: string, port: OptionalPort): S => {
  const all = Object.entries(members).map(([operation, kind]) => {
    const error = new StorageError({ operation, cause: new Unsupported({ store, port }) })
    const refused = Effect.fail(error)
    return [operation, kind === "effect" ? refused : () => refused]
  })
  return Object.fromEntries(all) as S
}

const portsOver = Effect.gen(function* () {
  const { name, ports } = yield* StoreManifest
  const there = yield* Effect.context()
  const portOf = <I, S>(port: OptionalPort, tag: Context.Service<I, S>, members: Members<S>): S => {
    if (!ports.includes(port)) return refusing(members, name, port)
    const found = Context.getOption(there, tag)
    if (Option.isSome(found)) return found.value
    throw new Error(`The manifest of the store "${name}" names ${port}, but its layer has none`)
  }
  return Context.make(KeyStore, portOf("keys", KeyStore, keys)).pipe(
    Context.add(LedgerStore, portOf("ledger", LedgerStore, ledger)),
    Context.add(WebhookStore, portOf("webhooks", WebhookStore, webhooks)),
    Context.add(SecretStore, portOf("secrets", SecretStore, secrets)),
    Context.add(ValueStore, portOf("values", ValueStore, values)),
    Context.add(SessionStore, portOf("sessions", SessionStore, sessions)),
    Context.add(TriggerStore, portOf("triggers", TriggerStore, triggers)),
  )
})

/**
 * The optional ports of the store in use: the store's own if its manifest names them, and ports
 * that fail for the rest. If the manifest names a port that is not provided, that is a defect.
 */
export const layer: Layer.Layer<
  KeyStore | LedgerStore | WebhookStore | SecretStore | ValueStore | SessionStore | TriggerStore,
  never,
  StoreManifest
> = Layer.effectContext(portsOver)
