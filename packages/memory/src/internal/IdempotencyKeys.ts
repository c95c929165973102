/**
 * The idempotency keys of starts, until they expire.
 *
 * Guarantees: expired keys are removed. Leaves out: the runs.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { KnownStart, IdempotencyKey } from "@millrace/core/domain/Idempotency"
import { idempotencyKeyMillis } from "@millrace/core/domain/Idempotency"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"

interface Entry extends KnownStart {
  readonly expiresAt: Timestamp
}

const nameOf = (account: AccountId, key: string): string => JSON.stringify([account, key])

/** Idempotency keys. Mutable; every method is one synchronous step. */
export class IdempotencyKeys {
  /** In the order in which they were stored, which is the order in which they expire. */
  readonly #entries = new Map<string, Entry>()

  find(account: AccountId, key: string, now: Timestamp): KnownStart | undefined {
    const entry = this.#entries.get(nameOf(account, key))
    if (entry === undefined || entry.expiresAt <= now) return undefined
    return { runId: entry.runId, bodyHash: entry.bodyHash }
  }

  /** Stores a key. False if it is in use. */
  take({ accountId, id }: Run, { bodyHash, key }: IdempotencyKey, now: Timestamp): boolean {
    if (this.find(accountId, key, now) !== undefined) return false
    for (const [name, { expiresAt }] of this.#entries) {
      if (expiresAt > now) break
      this.#entries.delete(name)
    }
    const name = nameOf(accountId, key)
    this.#entries.delete(name)
    this.#entries.set(name, { runId: id, bodyHash, expiresAt: now + idempotencyKeyMillis })
    return true
  }
}
