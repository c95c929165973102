/**
 * The secrets of one run in this process: what its nodes may be given, and what must not be
 * recorded of it.
 *
 * Guarantees: once an attempt of the run was given a secret, no text or value that passes through
 * here holds one of the run's secrets, in any form that {@link SecretMask} knows. A value that was
 * replaced meanwhile stays masked, too. Leaves out: which places name secrets.
 */
import { Effect, Redacted } from "effect"
import type { AccountId } from "../../domain/Id.ts"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { quoted } from "../../domain/Quote.ts"
import { mayGoTo } from "../../domain/Secret.ts"
import { handlerMessageLength } from "../../domain/Limits.ts"
import type { KnownSecret } from "../CurrentNode.ts"
import { NodeError } from "../CurrentNode.ts"
import type { OpenSecret, SecretSource } from "../CurrentSecrets.ts"
import { SecretMask } from "./SecretMask.ts"

const confinedOf = ({ hosts, name, value }: OpenSecret): KnownSecret => {
  // Most calls go where the secret may go, and then nobody looks for it.
  let found: SecretMask | undefined
  return {
    name,
    mayGoTo: (url) => mayGoTo(hosts, url),
    occursIn: (text) => {
      found ??= new SecretMask([Redacted.value(value)])
      return found.occursIn(text)
    },
  }
}

const closed = (cause: { readonly message: string }) =>
  new NodeError({ message: `the secrets cannot be opened: ${cause.message}` })

const gone = (name: string) =>
  new NodeError({ message: `the account has no secret ${quoted(name)}`, retryable: false })

/** Secrets of one run. Mutable. */
export class RunSecrets {
  /** What attempts that go on may send to some hosts only. */
  confined: ReadonlyArray<KnownSecret> = []
  readonly #open: SecretSource["open"]
  readonly #account: AccountId
  readonly #names: ReadonlyArray<string>
  readonly #values = new Set<string>()
  #mask: SecretMask | undefined

  /** `names` are all that the run's graph names. */
  constructor({ open }: SecretSource, account: AccountId, names: ReadonlyArray<string>) {
    this.#open = open
    this.#account = account
    this.#names = names
  }

  /** True once the run's secrets are known here. */
  get isOpen(): boolean {
    return this.#mask !== undefined
  }

  /** Reads all secrets of the run, and gives the values of those that a node uses. */
  open(used: ReadonlyArray<string>): Effect.Effect<ReadonlyMap<string, string>, NodeError> {
    return Effect.flatMap(
      Effect.mapError(this.#open(this.#account, this.#names, used), closed),
      (found) => {
        this.#learn(found)
        const values = new Map(found.map(({ name, value }) => [name, Redacted.value(value)]))
        const missing = used.find((name) => !values.has(name))
        return missing === undefined ? Effect.succeed(values) : Effect.fail(gone(missing))
      },
    )
  }

  text(text: string): string {
    return this.#mask?.text(text) ?? text
  }

  json<A extends Json | JsonObject>(value: A): A {
    return this.#mask?.json(value) ?? value
  }

  /** The same for a message that may have been cut. */
  sentence(text: string): string {
    if (this.#mask === undefined) return text
    return text.length < handlerMessageLength ? this.#mask.text(text) : this.#mask.cutText(text)
  }

  #learn(found: ReadonlyArray<OpenSecret>): void {
    const before = this.#values.size
    for (const { value } of found) this.#values.add(Redacted.value(value))
    if (this.#mask === undefined || this.#values.size > before) {
      this.#mask = new SecretMask([...this.#values])
    }
    // A host that may get one of two secrets with the same value may get the other.
    const hostsOf = (value: string) =>
      found.flatMap((each) => (Redacted.value(each.value) === value ? each.hosts : []))
    this.confined = found.map((each) =>
      confinedOf({ ...each, hosts: hostsOf(Redacted.value(each.value)) }),
    )
  }
}
