/**
 * Fills a new store: an account, the example workflows, and one API key.
 *
 * Guarantees: the key is made last, so a store without a key has not finished its first start. The
 * next start continues an interrupted first one and makes nothing twice. Leaves out: printing.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { Workflow, WorkflowContent } from "@millrace/core/domain/Workflow"
import type { CreatedKey } from "@millrace/core/engine/Keys"
import { Keys } from "@millrace/core/engine/Keys"
import type { InvalidGraph } from "@millrace/core/engine/Refusals"
import { Workflows } from "@millrace/core/engine/Workflows"
import type { SessionTicket } from "@millrace/core/engine/Sessions"
import { Sessions } from "@millrace/core/engine/Sessions"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"

/** The name of the account. */
const accountName = "default"

/** The label of the first key. */
const keyLabel = "first key"

/** The account of this store: the oldest, or a new one. */
export const ensureAccount: Effect.Effect<Account, StorageError, KeyStore | Keys> = Effect.gen(
  function* () {
    const [first] = yield* (yield* KeyStore).listAccounts
    return first ?? (yield* (yield* Keys).createAccount(accountName))
  },
)

/** True if the account never had a key: its first start is not over. */
export const isNew = (account: Account): Effect.Effect<boolean, StorageError, KeyStore> =>
  Effect.gen(function* () {
    const keys = yield* (yield* KeyStore).list(account.id)
    return keys.length === 0
  })

/** The workflow of this name, stored now unless an earlier, interrupted start did so. */
export const ensureWorkflow: (
  account: Account,
  content: WorkflowContent,
) => Effect.Effect<Workflow, StorageError | InvalidGraph, WorkflowStore | Workflows> =
  Effect.fnUntraced(function* (account, content) {
    const store = yield* WorkflowStore
    const { name } = content
    const { items } = yield* store.list({ account: account.id, search: name, limit: 50 })
    const found = items.find((each) => each.name === name)
    const stored = found === undefined ? Option.none() : yield* store.find(account.id, found.id)
    if (Option.isSome(stored)) return stored.value
    return yield* (yield* Workflows).create(account.id, content)
  })

/** The account's first key, with its secret. */
export const createKey = (account: Account): Effect.Effect<CreatedKey, StorageError, Keys> =>
  Effect.gen(function* () {
    return yield* (yield* Keys).create(account.id, { label: keyLabel })
  }).pipe(
    // The account exists and has no keys, so none of these can happen.
    Effect.catchTag(["AccountNotFound", "LabelTaken", "TooManyKeys", "InvalidKey"], Effect.die),
  )

/** A ticket that signs in as the owner of the account, once. */
export const linkOwner = (account: Account): Effect.Effect<SessionTicket, StorageError, Sessions> =>
  Effect.gen(function* () {
    return yield* (yield* Sessions).link(account.id, { role: "owner" })
  }).pipe(
    // The account exists, and nothing is asked for that could be outside its bounds.
    Effect.catchTag(["AccountNotFound", "InvalidSession", "TooManySessions"], Effect.die),
  )
