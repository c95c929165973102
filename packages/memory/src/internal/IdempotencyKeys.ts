/**
 * The names of starts, for as long as they hold.
 *
 * Guarantees: holds no more names than were taken within that time. Leaves out: the runs.
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

/** Names of starts. Mutable; every method is one synchronous step. */
export class IdempotencyKeys {
  /** In the order in which they were taken, which is that in which they expire. */
  readonly #entries = new Map<string, Entry>()

  find(account: AccountId, key: string, now: Timestamp): KnownStart | undefined {
    const entry = this.#entries.get(nameOf(account, key))
    if (entry === undefined || entry.expiresAt <= now) return undefined
    return { runId: entry.runId, bodyHash: entry.bodyHash }
  }

  /** False when the name is taken. */
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
